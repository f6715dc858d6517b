#include "optim/Updater.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Random.h"

namespace bloomery::optim {

namespace {

UpdateSpec read(const std::string& text) {
  Json json = parseJson(text, "training");
  JsonReader reader(json, "training");
  UpdateSpec spec = UpdateSpec::read(reader);
  reader.finish();
  return spec;
}

// Three parameters of 3, 20 and 2 values.
ArenaLayout smallLayout() {
  ArenaLayout layout;
  for (int64_t size : {3, 20, 2}) layout.add("p" + std::to_string(size), Shape{size});
  return layout;
}

// Values in the slices, zeros between them, as trainers have it.
Arena filled(const ArenaLayout& layout, uint64_t key) {
  Arena arena(layout);
  for (const Slice& slice : layout.slices()) {
    for (size_t i = 0; i < slice.size; ++i) {
      arena.view(slice).data[i] = 2 * uniformFloat(philox(key, slice.offset + i, 0)[0]) - 1;
    }
  }
  return arena;
}

std::vector<float> valuesOf(const Arena& arena) { return {arena.all().begin(), arena.all().end()}; }

std::vector<float> valuesOf(const Arena& arena, const Slice& slice) {
  auto values = arena.view(slice).span();
  return {values.begin(), values.end()};
}

double normOf(std::span<const float> values) {
  double squares = 0;
  for (float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

struct Training {
  explicit Training(const std::string& spec, std::vector<ParameterRule> rules = {})
      : updater(read(spec), layout, std::move(rules)) {}

  double step(uint64_t key, double scale = 1) {
    Arena fresh = filled(layout, key);
    std::ranges::copy(fresh.all(), gradients.all().begin());
    return updater.step(parameters.all(), gradients.all(), 10, scale);
  }
  const Slice& slice(size_t i) const { return layout.slices()[i]; }

  ArenaLayout layout = smallLayout();
  Arena parameters = filled(layout, 1), gradients{layout};
  Updater updater;
};

TEST(UpdaterTest, clipsTheNormOfAllGradients) {
  Training training(R"({"clipNorm": 0.5})");
  std::vector<float> before = valuesOf(filled(training.layout, 2));
  training.step(2);
  EXPECT_NEAR(normOf(training.gradients.all()), 0.5, 1e-6);
  double factor = 0.5 / normOf(before);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(training.gradients.all()[i], before[i] * factor, 1e-7);
}

TEST(UpdaterTest, leavesAShortGradientAsItIs) {
  Training training(R"({"clipNorm": 50})");
  training.step(2);
  EXPECT_EQ(valuesOf(training.gradients), valuesOf(filled(training.layout, 2)));
}

TEST(UpdaterTest, clipsEachValue) {
  Training training(R"({"clipValue": 0.25})");
  std::vector<float> before = valuesOf(filled(training.layout, 2));
  training.step(2);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(training.gradients.all()[i], std::min(0.25f, std::max(-0.25f, before[i])));
  }
}

TEST(UpdaterTest, whatIsNotANumberIsNotClippedAway) {
  Training training(R"({"clipValue": 0.25, "optimizer": "sgd"})");
  training.gradients.all()[0] = NAN;
  training.updater.step(training.parameters.all(), training.gradients.all(), 1);
  EXPECT_TRUE(std::isnan(training.parameters.all()[0]));
}

TEST(UpdaterTest, scalesGradientsFirst) {
  Training training(R"({"clipValue": 0.25})");
  std::vector<float> before = valuesOf(filled(training.layout, 2));
  training.step(2, 0.125);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(training.gradients.all()[i], before[i] * 0.125f);
}

TEST(UpdaterTest, regularisersPullAndCostAsWritten) {
  Training training(R"({"optimizer": {"kind": "sgd", "learningRate": 1}})", {{.l1 = 0.5}, {.l2 = 0.25}, {}});
  training.parameters.all()[1] = 0;  // has no sign
  Arena start(training.layout);
  std::ranges::copy(training.parameters.all(), start.all().begin());
  double expected = 0;
  for (float value : valuesOf(start, training.slice(0))) expected += 0.5 * std::abs(value);
  for (float value : valuesOf(start, training.slice(1))) expected += 0.25 * value * value;
  EXPECT_NEAR(training.updater.regularisationLoss(start.all()), expected, 1e-12);
  Arena gradients = filled(training.layout, 2);
  EXPECT_NEAR(training.step(2), expected, 1e-12);
  for (size_t i = 0; i < start.all().size(); ++i) {
    float parameter = start.all()[i], pull = 0;
    if (i < 3) pull = parameter > 0 ? 0.5f : parameter < 0 ? -0.5f : 0.0f;
    if (i >= training.slice(1).offset && i < training.slice(2).offset) pull = 0.5f * parameter;
    EXPECT_NEAR(training.parameters.all()[i], parameter - (gradients.all()[i] + pull), 1e-6) << i;
  }
}

TEST(UpdaterTest, regularisersPullByTheSlopeOfTheirLoss) {
  Training training("{}", {{.l1 = 0.5, .l2 = 0.25}, {.l1 = 0.125}, {.l2 = 2}});
  std::vector<float> start = valuesOf(training.parameters);
  training.updater.step(training.parameters.all(), training.gradients.all(), 1);
  std::vector<float> around = start;
  for (size_t i = 0; i < start.size(); ++i) {
    constexpr float kShift = 1.0f / 1024;
    if (std::abs(start[i]) <= kShift) continue;  // the corner of l1, or padding
    around[i] = start[i] + kShift;
    double above = training.updater.regularisationLoss(around), step = around[i];
    around[i] = start[i] - kShift;
    step -= around[i];
    EXPECT_NEAR(training.gradients.all()[i], (above - training.updater.regularisationLoss(around)) / step, 1e-6) << i;
    around[i] = start[i];
  }
}

TEST(UpdaterTest, regularisersComeBeforeClipping) {
  Training training(R"({"clipNorm": 0.5})", {{.l2 = 100}, {}, {}});
  training.step(2);
  EXPECT_NEAR(normOf(training.gradients.all()), 0.5, 1e-6);
}

TEST(UpdaterTest, frozenParametersStayAndCountNowhere) {
  for (const char* kind : {"sgd", "adam", "adamw", "adadelta", "adagrad", "rmsprop", "lamb"}) {
    SCOPED_TRACE(kind);
    std::string spec =
        message(R"({"clipNorm": 0.5, "emaMomentum": 0.5, "optimizer": {"kind": ")", kind, R"(", "weightDecay": 0.1}})");
    Training frozen(spec, {{}, {.l1 = 1, .l2 = 1, .trainable = false}, {}});
    std::vector<float> start = valuesOf(frozen.parameters, frozen.slice(1));
    for (uint64_t key : {2u, 3u}) EXPECT_EQ(frozen.step(key), 0);
    EXPECT_EQ(valuesOf(frozen.parameters, frozen.slice(1)), start);
    EXPECT_NE(valuesOf(frozen.parameters), valuesOf(filled(frozen.layout, 1)));
    double squares = std::pow(normOf(valuesOf(frozen.gradients, frozen.slice(0))), 2) +
                     std::pow(normOf(valuesOf(frozen.gradients, frozen.slice(2))), 2);
    EXPECT_NEAR(std::sqrt(squares), 0.5, 1e-6);
    // Running statistics, say: written by others, and not averaged.
    frozen.parameters.view(frozen.slice(1)).data[0] = 42;
    frozen.updater.swapAverages(frozen.parameters.all());
    EXPECT_EQ(frozen.parameters.view(frozen.slice(1)).data[0], 42);
  }
}

TEST(UpdaterTest, decayCanBeLeftOut) {
  std::string spec = R"({"optimizer": {"kind": "sgd", "learningRate": 0.5, "weightDecay": 0.5}})";
  Training training(spec, {{}, {.decays = false}, {}});
  std::vector<float> start = valuesOf(training.parameters);
  training.updater.step(training.parameters.all(), training.gradients.all(), 1);
  for (size_t i = 0; i < start.size(); ++i) {
    bool decays = i < training.slice(1).offset || i >= training.slice(2).offset;
    EXPECT_EQ(training.parameters.all()[i], decays ? 0.75f * start[i] : start[i]);
  }
}

TEST(UpdaterTest, averagesStartAtTheFirstStepAndFollow) {
  Training training(R"({"optimizer": "sgd", "emaMomentum": 0.75})");
  std::vector<float> start = valuesOf(training.parameters);
  training.updater.swapAverages(training.parameters.all());
  EXPECT_EQ(valuesOf(training.parameters), start);
  std::vector<float> averages;
  for (uint64_t key : {2, 3, 4}) {
    training.step(key);
    std::vector<float> now = valuesOf(training.parameters);
    if (averages.empty()) averages = now;
    for (size_t i = 0; i < now.size(); ++i) averages[i] += 0.25f * (now[i] - averages[i]);
    training.updater.swapAverages(training.parameters.all());
    EXPECT_EQ(valuesOf(training.parameters), averages);
    training.updater.swapAverages(training.parameters.all());
    EXPECT_EQ(valuesOf(training.parameters), now);
  }
}

TEST(UpdaterTest, learningRateFollowsTheSchedule) {
  Training training(R"({"optimizer": {"kind": "sgd", "learningRate":
      {"kind": "piecewise", "boundaries": [0, 1], "values": [1, 0.5, 0.25]}}})");
  for (double rate : {1.0, 0.5, 0.25}) {
    EXPECT_EQ(training.updater.learningRate(10), rate);
    std::vector<float> before = valuesOf(training.parameters);
    training.step(2);
    EXPECT_NEAR(training.parameters.all()[0], before[0] - rate * training.gradients.all()[0], 1e-7);
  }
  EXPECT_EQ(training.updater.numSteps(), 3);
}

TEST(UpdaterTest, goesOnFromItsState) {
  std::string spec = R"({"emaMomentum": 0.9, "optimizer": {"kind": "adam", "learningRate":
      {"kind": "reduce_on_plateau", "patience": 1, "monitor": "loss", "warmupSteps": 4}}})";
  Training first(spec), second(spec);
  for (uint64_t key : {2, 3, 4}) first.step(key);
  for (double loss : {1.0, 1.0}) first.updater.epochEnded({loss, {}});
  auto from = first.updater.arenas(), to = second.updater.arenas();
  ASSERT_EQ(from.size(), numStateArenas(read(spec)));
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    std::ranges::copy(from[i].values, to[i].values.begin());
  }
  second.updater.restore(parseJson(first.updater.counters().dump(), "state"));
  std::ranges::copy(first.parameters.all(), second.parameters.all().begin());
  for (Training* training : {&first, &second}) {
    training->step(5);
    training->updater.swapAverages(training->parameters.all());
  }
  EXPECT_EQ(first.updater.learningRate(10), second.updater.learningRate(10));
  EXPECT_EQ(valuesOf(first.parameters), valuesOf(second.parameters));
}

TEST(UpdaterTest, levelsAndThreadsGiveTheSameBits) {
  ArenaLayout layout;
  for (int64_t size : {100003, 17, 70000}) layout.add("p" + std::to_string(size), Shape{size});
  auto run = [&](SimdLevel level, int threads) {
    omp_set_num_threads(threads);
    Updater updater(read(R"({"optimizer": "lamb", "clipNorm": 1, "emaMomentum": 0.9})"), layout,
                    {{.l1 = 1e-4f}, {}, {.l2 = 1e-3f}}, level);
    Arena parameters = filled(layout, 1);
    std::vector<float> result;
    for (uint64_t key : {2, 3}) {
      Arena gradients = filled(layout, key);
      result.push_back(static_cast<float>(updater.step(parameters.all(), gradients.all(), 1, 0.5)));
    }
    result.insert(result.end(), parameters.all().begin(), parameters.all().end());
    updater.swapAverages(parameters.all());
    result.insert(result.end(), parameters.all().begin(), parameters.all().end());
    return result;
  };
  int before = omp_get_max_threads();
  std::vector<float> expected = run(SimdLevel::kBaseline, 1);
  EXPECT_EQ(run(SimdLevel::kBaseline, 2), expected);
  EXPECT_EQ(run(SimdLevel::kBaseline, 3), expected);
  if (simdLevel() == SimdLevel::kAvx2) {
    EXPECT_EQ(run(SimdLevel::kAvx2, 1), expected);
    EXPECT_EQ(run(SimdLevel::kAvx2, 2), expected);
  }
  omp_set_num_threads(before);
}

class UpdateInParts : public testing::TestWithParam<const char*> {};

TEST_P(UpdateInParts, givesTheBitsOfOneStep) {
  const std::string spec = std::string(R"({"clipValue": 0.5, "emaMomentum": 0.9, "optimizer": )") + GetParam() + "}";
  const std::vector<ParameterRule> rules = {{.l1 = 1e-2f}, {.decays = false}, {.l2 = 1e-2f}};
  Training whole(spec, rules), parts(spec, rules);
  for (uint64_t key : {2, 3, 4}) {
    double wholeLoss = whole.step(key, 0.5), loss = 0;
    Arena fresh = filled(parts.layout, key);
    std::ranges::copy(fresh.all(), parts.gradients.all().begin());
    parts.updater.begin(10, 0.5);
    for (size_t i = parts.layout.slices().size(), end = parts.layout.numFloats(); i > 0; --i) {
      size_t first = parts.slice(i - 1).offset;
      loss += parts.updater.update(parts.parameters.all(), parts.gradients.all(), first, end - first);
      end = first;
    }
    parts.updater.end();
    EXPECT_NEAR(loss, wholeLoss, 1e-12);
    ASSERT_EQ(valuesOf(parts.parameters), valuesOf(whole.parameters));
  }
  for (Training* training : {&whole, &parts}) training->updater.swapAverages(training->parameters.all());
  EXPECT_EQ(valuesOf(parts.parameters), valuesOf(whole.parameters));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, UpdateInParts,
                         testing::Values(R"("sgd")", R"({"kind": "sgd", "momentum": 0.9, "weightDecay": 0.1})",
                                         R"("adam")", R"("adamw")", R"("adadelta")", R"("adagrad")", R"("rmsprop")",
                                         R"("lamb")"));

TEST(UpdaterTest, normOfAllGradientsIsNotClippedInParts) {
  Training training(R"({"clipNorm": 1})");
  EXPECT_FALSE(training.updater.updatesInParts());
  training.updater.begin(10);
  EXPECT_THROW(training.updater.update(training.parameters.all(), training.gradients.all(), 0, 16), InternalError);
}

TEST(UpdateSpecTest, optionsAreReadAndWritten) {
  UpdateSpec spec = read(R"({"optimizer": {"learningRate": 0.5}, "clipNorm": 1, "emaMomentum": 0.99})");
  Json json;
  spec.write(json);
  EXPECT_EQ(json.at("optimizer").at("kind"), "adam");
  EXPECT_EQ(json.at("clipNorm"), 1.0);
  EXPECT_EQ(json.at("emaMomentum"), 0.99);
  EXPECT_FALSE(json.contains("clipValue"));
  EXPECT_EQ(numStateArenas(spec), 3u);
  Json none;
  read("{}").write(none);
  EXPECT_EQ(none.size(), 1u);
}

TEST(UpdateSpecTest, wrongOptionsAreRefusedWithTheReason) {
  for (const auto& [text, reason] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"clipNorm": 0})", "Not positive: clipNorm 0, in training"},
           {R"({"clipValue": -1})", "Not positive: clipValue -1, in training"},
           {R"({"clipNorm": 1, "clipValue": 1})", "Both clipNorm and clipValue are set: keep one"},
           {R"({"emaMomentum": 1})", "Outside 0 <= emaMomentum < 1: 1, in training"},
           {R"({"emaMomentum": "x"})", "Wrong value for emaMomentum of training: \"x\", wanted a number"},
       }) {
    try {
      read(text);
      FAIL() << "accepted: " << text;
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), reason);
    }
  }
}

}  // namespace

}  // namespace bloomery::optim
