// Gradients that travel in 16 bits.
#include <gtest/gtest.h>

#include <cmath>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

// Several buckets, a table of which few rows travel, and running statistics.
std::string mixedNetwork() {
  return R"({"name": "mixed", "layers": [{"kind": "Input", "shape": [6], "dtype": "uint8"},
    {"kind": "Embedding", "inputDim": 4000, "outputDim": 20}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 800, "activation": "relu"}, {"kind": "BatchNormalization"},
    {"kind": "Dense", "units": 800, "activation": "relu"}, {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

#ifdef __SANITIZE_THREAD__
constexpr int kEpochs = 2;  // of plain loops, which take seconds here
#else
constexpr int kEpochs = 4;
#endif

struct Case {
  const char* name;
  const char* format;
  double tolerance;  // of losses
  const char* options = "";
};

class Compression : public testing::TestWithParam<Case> {};

std::vector<WorkerResult> train(const std::string& format, const std::string& options) {
  std::string training = message(R"({"epochs": )", kEpochs, R"(, "batchSize": 8, "seed": 5, "gradientCompression": ")",
                                 format, R"(", "optimizer": {"kind": "sgd", "learningRate": 0.02})", options, "}");
  return trainTogether(training, {{idRange(0, 64)}, {idRange(1000, 50)}}, mixedNetwork());
}

TEST_P(Compression, trainsNearlyAsFloatsDoAndEquallyOnAllWorkers) {
  auto floats = train("none", GetParam().options), halves = train(GetParam().format, GetParam().options);
  EXPECT_EQ(halves[0].parameters, halves[1].parameters);
  EXPECT_NE(halves[0].parameters, floats[0].parameters);
  for (size_t epoch = 0; epoch < floats[0].losses.size(); ++epoch) {
    EXPECT_NEAR(halves[0].losses[epoch], floats[0].losses[epoch], GetParam().tolerance) << epoch;
  }
  EXPECT_LT(halves[0].losses.back(), halves[0].losses.front());
  EXPECT_EQ(halves[0].lastEpoch.at("reducedAgain"), 0);
  auto again = train(GetParam().format, GetParam().options);
  EXPECT_EQ(again[0].parameters, halves[0].parameters);
}

INSTANTIATE_TEST_SUITE_P(Ways, Compression,
                         testing::Values(Case{"fp16", "fp16", 1e-2}, Case{"bf16", "bf16", 4e-2},
                                         Case{"fp16Passes", "fp16", 1e-2, R"(, "backwardPassesPerStep": 3)"},
                                         Case{"fp16ClippedNorm", "fp16", 1e-2, R"(, "clipNorm": 1)"}),
                         [](const auto& test) { return std::string(test.param.name); });

// Weights so large that the gradients of a whole batch pass what fp16 can hold: the sums are made again of floats, and
// so they are those of floats.
TEST(Compression, sumsThatDoNotFitAreMadeAgainOfFloatsAndCounted) {
  auto train = [](const char* format) {
    std::string training = message(R"({"epochs": 2, "batchSize": 8, "loss": "mse", "gradientCompression": ")", format,
                                   R"(", "optimizer": {"kind": "sgd", "learningRate": 1e-12}})");
    const char* network = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 100},
      {"kind": "Flatten"}, {"kind": "Dense", "units": 200}, {"kind": "Dense", "units": 3}]})";
    std::vector<WorkerRows> rows = {{idRange(0, 16)}, {idRange(1000, 16)}};
    for (WorkerRows& worker : rows) worker.vectors = true;
    return trainTogether(training, rows, network);
  };
  auto floats = train("none"), halves = train("fp16");
  EXPECT_EQ(halves[0].lastEpoch.at("reducedAgain"), 2);  // one message a step
  EXPECT_EQ(halves[1].lastEpoch.at("reducedAgain"), 2);
  EXPECT_EQ(halves[0].parameters, floats[0].parameters);
}

TEST(Compression, aloneChangesNothing) {
  auto train = [](const char* format) {
    std::string training = message(R"({"epochs": 2, "batchSize": 8, "gradientCompression": ")", format, "\"}");
    return trainTogether(training, {{idRange(0, 40)}}, mixedNetwork())[0].parameters;
  };
  EXPECT_EQ(train("fp16"), train("none"));
}

}  // namespace
}  // namespace bloomery::train
