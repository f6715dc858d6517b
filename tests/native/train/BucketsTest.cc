// Steps whose gradients are reduced and used in several buckets.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "comm/Bucketer.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

// Three buckets: the last two layers, the middle one, the rest. `middle` has options for the middle layer.
std::string wideNetwork(const std::string& middle = "") {
  return message(R"({"name": "wide", "layers": [
    {"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 1100, "activation": "relu"},
    {"kind": "Dense", "units": 1100, "activation": "relu")",
                 middle, R"(}, {"kind": "Dense", "units": 1100, "activation": "relu"},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})");
}

#ifdef __SANITIZE_THREAD__
constexpr int kEpochs = 2;  // of plain loops, which take seconds here
#else
constexpr int kEpochs = 5;
#endif

struct Case {
  const char* name;
  int64_t passes = 1;
  const char* options = "";
  const char* middle = "";
};

class Buckets : public testing::TestWithParam<Case> {};

TEST_P(Buckets, twoWorkersWithTheHalvesTrainLikeOneWithTheWhole) {
  const Case& test = GetParam();
  const std::string network = wideNetwork(test.middle);
  ArenaLayout layout = TaskSpec::parse(taskJson("{}", 0, 1, "", network)).graph.parameters().layout();
  ASSERT_EQ(comm::planBuckets(layout, layout.numFloats() + 16).size(), 3u);
  // All 16 rows make one step.
  auto training = [&](int64_t rows) {
    return message(R"({"epochs": )", kEpochs, R"(, "shuffle": false, "seed": 3, "batchSize": )", rows / test.passes,
                   R"(, "backwardPassesPerStep": )", test.passes,
                   R"(, "optimizer": {"kind": "sgd", "learningRate": 0.05, "momentum": 0.9})", test.options, "}");
  };
  auto two = trainTogether(training(8), {{idRange(0, 8)}, {idRange(8, 8)}}, network);
  auto one = trainTogether(training(16), {{idRange(0, 16)}}, network);
  EXPECT_EQ(two[0].lastEpoch.at("steps"), 1);
  EXPECT_EQ(two[0].parameters, two[1].parameters);
  EXPECT_LT(one[0].losses.back(), one[0].losses.front());
  for (size_t i = 0; i < one[0].parameters.size(); ++i) {
    ASSERT_NEAR(two[0].parameters[i], one[0].parameters[i], 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Buckets,
                         testing::Values(Case{"plain"}, Case{"clippedNorm", 1, R"(, "clipNorm": 0.5)"},
                                         Case{"clippedValues", 1, R"(, "clipValue": 0.001)"}, Case{"passes", 2},
                                         Case{"frozenMiddle", 1, "", R"(, "trainable": false)"},
                                         Case{"regularised", 1, "", R"(, "kernelRegularizer": {"l2": 0.01})"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Buckets, lossThatIsNotFiniteLeavesNobodyWaiting) {
  auto start = std::chrono::steady_clock::now();
  WorkerRows odd{idRange(0, 40)};
  odd.weightOf = [](uint64_t id) { return id == 5 ? std::numeric_limits<float>::infinity() : 1.0f; };
  EXPECT_THROW(trainTogether(R"({"batchSize": 4, "shuffle": false})", {odd, {idRange(100, 40)}}, wideNetwork()),
               UserError);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace bloomery::train
