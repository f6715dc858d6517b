#include "nn/kernels/Dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kSizes[] = {1, 7, 8, 31, 32, 33, 100, 9216};

class DropoutLevelTest : public testing::TestWithParam<SimdLevel> {};

TEST_P(DropoutLevelTest, followsItsDefinition) {
  if (GetParam() > simdLevel()) GTEST_SKIP() << "this machine has no AVX2";
  DropoutRule rule(0.3, 42, "dropout");
  uint64_t key = rule.keyFor(5), rowId = (uint64_t{9} << 40) + 123456789;
  for (int64_t size : kSizes) {
    std::vector<float> values = randomFloats(size, 1), dropped = values;
    std::vector<uint8_t> mask(static_cast<size_t>(dropoutMaskBytes(size)));
    dropRow(rule, key, rowId, dropped.data(), size, mask.data(), GetParam());
    for (int64_t i = 0; i < size; ++i) {
      size_t at = static_cast<size_t>(i);
      bool kept = dropoutKeeps(rule, key, rowId, i);
      EXPECT_EQ(dropped[at], kept ? values[at] * rule.scale : 0.0f) << size << ", element " << i;
      EXPECT_EQ(mask[at / 8] >> (i % 8) & 1, kept ? 1 : 0) << size << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(levels, DropoutLevelTest, testing::Values(SimdLevel::kBaseline, SimdLevel::kAvx2));

TEST(DropoutTest, gradientsFollowTheMaskAndTheValues) {
  DropoutRule rule(0.3, 42, "dropout");
  for (int64_t size : kSizes) {
    std::vector<float> values(static_cast<size_t>(size), 1.0f), byMask = randomFloats(size, 2), byValues = byMask,
                                                                expected = byMask;
    std::vector<uint8_t> mask(static_cast<size_t>(dropoutMaskBytes(size)));
    dropRow(rule, rule.keyFor(0), 17, values.data(), size, mask.data());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = values[i] > 0 ? expected[i] * rule.scale : 0.0f;
    dropRowByMask(rule, mask.data(), byMask.data(), size);
    dropRowByValues(rule, values.data(), byValues.data(), size);
    EXPECT_EQ(byMask, expected) << size;
    EXPECT_EQ(byValues, expected) << size;
  }
}

TEST(DropoutTest, dropsTheGivenShareAndKeepsTheMean) {
  for (double rate : {0.1, 0.25, 0.5, 0.9}) {
    DropoutRule rule(rate, 7, "layer");
    double numDropped = 0, sum = 0;
    constexpr int64_t kRows = 100, kSize = 4096;
    for (uint64_t row = 0; row < kRows; ++row) {
      std::vector<float> values(kSize, 1.0f);
      dropRow(rule, rule.keyFor(1), row, values.data(), kSize, nullptr);
      for (float value : values) {
        numDropped += value == 0 ? 1 : 0;
        sum += value;
      }
    }
    double count = kRows * kSize, deviation = std::sqrt(rate * (1 - rate) / count);
    EXPECT_NEAR(numDropped / count, rate, 4 * deviation);
    EXPECT_NEAR(sum / count, 1.0, 4 * deviation / (1 - rate));
  }
}

// Share of elements that are kept or dropped in both: one half at rate one half, when they have nothing in common.
double agreement(uint64_t key1, uint64_t row1, uint64_t key2, uint64_t row2) {
  DropoutRule rule(0.5, 0, "");
  std::vector<float> a(8192, 1.0f), b(8192, 1.0f);
  dropRow(rule, key1, row1, a.data(), 8192, nullptr);
  dropRow(rule, key2, row2, b.data(), 8192, nullptr);
  double same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  return same / 8192;
}

TEST(DropoutTest, differsBySeedLayerEpochAndRow) {
  constexpr double kFourDeviations = 4 * 0.5 / 90.5;
  uint64_t key = DropoutRule(0.5, 1, "a").keyFor(1);
  EXPECT_EQ(agreement(key, 3, key, 3), 1.0);
  EXPECT_NEAR(agreement(key, 3, DropoutRule(0.5, 2, "a").keyFor(1), 3), 0.5, kFourDeviations);
  EXPECT_NEAR(agreement(key, 3, DropoutRule(0.5, 1, "b").keyFor(1), 3), 0.5, kFourDeviations);
  EXPECT_NEAR(agreement(key, 3, DropoutRule(0.5, 1, "a").keyFor(2), 3), 0.5, kFourDeviations);
  EXPECT_NEAR(agreement(key, 3, key, 4), 0.5, kFourDeviations);
  EXPECT_NEAR(agreement(key, 3, key, 3 + (uint64_t{1} << 40)), 0.5, kFourDeviations);
}

const char* const kNetwork =
    R"([{'kind': 'Input', 'shape': [8, 8, 1]}, {'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'activation': 'relu'},
    {'kind': 'MaxPool2D'}, {'kind': 'Dropout', 'rate': 0.3}, {'kind': 'Flatten'}, {'kind': 'Dense', 'units': 5}])";

// A row's logits are the same at any place of any batch: here whole, and as the last row of a smaller batch.
TEST(DropoutTest, doesNotDependOnPlaceOrBatch) {
  TestNetwork network(kNetwork, 6);
  auto logitsOf = [&](int64_t firstRow, int64_t numRows) {
    auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(numRows));
    const float* input = network.features.data() + firstRow * 64;
    plan->forward(
        {std::span(&input, 1),
         std::span(network.rowIds).subspan(static_cast<size_t>(firstRow), static_cast<size_t>(numRows)), numRows, 3},
        Mode::kTraining);
    return std::vector<float>(plan->logits().data, plan->logits().data + numRows * 5);
  };
  std::vector<float> whole = logitsOf(0, 6), half = logitsOf(3, 3);
  for (size_t i = 0; i < half.size(); ++i) EXPECT_NEAR(half[i], whole[15 + i], 1e-5) << i;
}

TEST(DropoutTest, isOffInInferenceMode) {
  TestNetwork network(kNetwork, 4);
  for (MakePlan make : {makeDnnlPlan, makeReferencePlan}) {
    auto training = make(network.graph, network.parameters, &network.gradients, network.options(4));
    auto inference = make(network.graph, network.parameters, nullptr, {4, false, 0});
    training->forward(network.batch(), Mode::kTraining);
    std::vector<float> dropped(training->logits().data, training->logits().data + 20);
    training->forward(network.batch(), Mode::kInference);
    inference->forward(network.batch(), Mode::kInference);
    double difference = 0;
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(training->logits().data[i], inference->logits().data[i], 1e-5);
      difference = std::max(difference, std::abs(double{dropped[i]} - inference->logits().data[i]));
    }
    EXPECT_GT(difference, 0.01);
  }
}

}  // namespace

}  // namespace bloomery::nn
