// Ten steps of each optimizer on a small mnist-cnn against PyTorch's (tests/golden/generate.py), dropout included, and
// of what the Updater does beside it.
#include <gtest/gtest.h>

#include "golden/Fixture.h"
#include "nn/CrossEntropy.h"
#include "nn/Plan.h"
#include "optim/Updater.h"

namespace bloomery::optim {

namespace {

UpdateSpec updatesOf(const Json& run) {
  Json training = Json::object();
  for (const char* key : {"optimizer", "clipNorm", "clipValue", "emaMomentum"}) {
    if (run.contains(key)) training[key] = run.at(key);
  }
  JsonReader reader(training, "training");
  return UpdateSpec::read(reader);
}

std::vector<ParameterRule> rulesOf(const Json& run, const ArenaLayout& layout) {
  std::vector<ParameterRule> rules(layout.slices().size());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!layout.slices()[i].name.ends_with("/kernel")) continue;
    rules[i].l1 = run.value("l1", 0.0f);
    rules[i].l2 = run.value("l2", 0.0f);
  }
  return rules;
}

TEST(OptimizerGoldenTest, tenStepsAgreeWithPyTorch) {
  Json json = golden::load("training.json");
  golden::Fixture fixture(json);
  ASSERT_EQ(json.at("runs").size(), 16u);
  for (const Json& expected : json.at("runs")) {
    UpdateSpec spec = updatesOf(expected);
    Json options;
    spec.write(options);
    SCOPED_TRACE(options.dump());
    Arena parameters = fixture.arena(json.at("parameters")), gradients(fixture.layout);
    auto plan = nn::makeDnnlPlan(fixture.graph, parameters, &gradients, {fixture.numRows(), true, fixture.seed});
    Updater updater(spec, fixture.layout, rulesOf(expected, fixture.layout));
    NoGradientSink sink;
    for (int64_t step = 0; step < 10; ++step) {
      const float* input = fixture.features.data();
      plan->forward({std::span(&input, 1), fixture.rowIds, fixture.numRows(), step}, nn::Mode::kTraining);
      nn::LossSums sums = nn::softmaxCrossEntropy(plan->logits(), fixture.labels, fixture.weights, fixture.weightSum(),
                                                  plan->logitGradients());
      plan->backward(sink);
      double penalty = updater.regularisationLoss(parameters.all());
      EXPECT_EQ(updater.step(parameters.all(), gradients.all(), 1), penalty);
      EXPECT_NEAR(sums.loss / sums.weight + penalty, expected.at("losses")[static_cast<size_t>(step)].get<double>(),
                  2e-5)
          << "step " << step;
    }
    for (const Slice& slice : fixture.layout.slices()) {
      golden::expectNear(parameters.view(slice).span(), expected.at("parameters").at(slice.name), 1e-4, slice.name);
    }
    if (!expected.contains("averages")) continue;
    updater.swapAverages(parameters.all());
    for (const Slice& slice : fixture.layout.slices()) {
      golden::expectNear(parameters.view(slice).span(), expected.at("averages").at(slice.name), 1e-4, slice.name);
    }
  }
}

}  // namespace

}  // namespace bloomery::optim
