// Steps that leave rows without a gradient out give the bits of steps over everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/JsonValue.h"
#include "base/Random.h"
#include "optim/Updater.h"

namespace bloomery::optim {

namespace {

constexpr int64_t kRows = 500, kWidth = 7;

struct Case {
  const char* name;
  const char* options;
  bool leavesOut = false;  // rows without a gradient
  ParameterRule rule = {};
};

UpdateSpec read(const std::string& text) {
  Json json = parseJson(text, "training");
  JsonReader reader(json, "training");
  return UpdateSpec::read(reader);
}

// A table between two small parameters.
class Training {
 public:
  Training(const Case& test, bool sparse)
      : rows_(gradients_, layout_, {1}),
        updater_(read(test.options), layout_, {{}, test.rule, {}}, simdLevel(), sparse ? &rows_ : nullptr) {
    for (const Slice& slice : layout_.slices()) fill(slice, 1);
  }

  void step(uint64_t key) {
    rows_.clearArena();
    for (uint64_t i = 0; i < 20; ++i) {
      int64_t row = philox(key, i, 1)[0] % kRows;
      rows_.find(1)->mark(row);
      for (float& value : rows_.find(1)->row(row)) value = random(key, i);
    }
    for (size_t slice : {0u, 2u}) {
      for (float& value : gradients_.view(layout_.slices()[slice]).span()) value = random(key, slice);
    }
    updater_.begin(10, 0.5);
    updater_.update(parameters_.all(), gradients_.all(), 0, layout_.numFloats());
    updater_.end();
  }

  // A value that a step over everything would change.
  void hide(float value) { parameters_.view(layout_.slices()[1]).data[kWidth * 3] = value; }
  float hidden() const { return parameters_.view(layout_.slices()[1]).data[kWidth * 3]; }

  std::vector<float> everything() {
    std::vector<float> all(parameters_.all().begin(), parameters_.all().end());
    for (const StateArena& arena : updater_.arenas()) all.insert(all.end(), arena.values.begin(), arena.values.end());
    return all;
  }

 private:
  static float random(uint64_t key, uint64_t i) { return 2 * uniformFloat(philox(key, i, 0)[0]) - 1; }
  void fill(const Slice& slice, uint64_t key) {
    for (size_t i = 0; i < slice.size; ++i) parameters_.view(slice).data[i] = random(key, slice.offset + i);
  }
  static ArenaLayout makeLayout() {
    ArenaLayout layout;
    layout.add("before", {3});
    layout.add("table", {kRows, kWidth});
    layout.add("behind", {20});
    return layout;
  }

  ArenaLayout layout_ = makeLayout();
  Arena parameters_{layout_}, gradients_{layout_};
  GradientRows rows_;
  Updater updater_;
};

class SparseUpdate : public testing::TestWithParam<Case> {};

TEST_P(SparseUpdate, givesTheBitsOfAWholeOne) {
  Training sparse(GetParam(), true), dense(GetParam(), false);
  for (uint64_t key = 2; key < 8; ++key) {
    for (Training* training : {&sparse, &dense}) training->step(key);
    ASSERT_EQ(sparse.everything(), dense.everything()) << "step " << key;
  }
}

// An update makes not-a-number of it: zero times infinity.
TEST_P(SparseUpdate, leavesRowsWithoutGradientOutWhereItCan) {
  Training sparse(GetParam(), true);
  sparse.hide(INFINITY);
  sparse.step(2);
  EXPECT_EQ(std::isinf(sparse.hidden()), GetParam().leavesOut) << sparse.hidden();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SparseUpdate,
    testing::Values(Case{"sgd", R"({"optimizer": "sgd"})", true},
                    Case{"sgdClippedValues", R"({"optimizer": "sgd", "clipValue": 0.1})", true},
                    Case{"sgdClippedNorm", R"({"optimizer": "sgd", "clipNorm": 0.1})"},
                    Case{"sgdAveraged", R"({"optimizer": "sgd", "emaMomentum": 0.9})"},
                    Case{"sgdDecay", R"({"optimizer": {"kind": "sgd", "weightDecay": 0.1}})"},
                    Case{"sgdMomentum", R"({"optimizer": {"kind": "sgd", "momentum": 0.9}})"},
                    Case{"sgdRegularised", R"({"optimizer": "sgd"})", false, {.l2 = 0.1f}},
                    Case{"adagrad", R"({"optimizer": "adagrad"})", true},
                    Case{"adagradDecay", R"({"optimizer": {"kind": "adagrad", "weightDecay": 0.1}})"},
                    Case{"adam", R"({"optimizer": "adam"})"}, Case{"adamw", R"({"optimizer": "adamw"})"},
                    Case{"adadelta", R"({"optimizer": "adadelta"})"}, Case{"rmsprop", R"({"optimizer": "rmsprop"})"},
                    Case{"lamb", R"({"optimizer": "lamb"})"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace

}  // namespace bloomery::optim
