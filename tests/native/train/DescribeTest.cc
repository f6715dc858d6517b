#include "train/Describe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "golden/Fixture.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

Json taskOf(const std::string& network, int64_t batchSize = 1) {
  Json loss = network.starts_with("solar") ? "mse" : "categorical_crossentropy";
  if (network == "every-kind") loss = {{"scores", "categorical_crossentropy"}, {"dense", "mse"}};
  return {{"network", golden::load("networks/" + network + ".json")},
          {"training", {{"loss", loss}, {"batchSize", batchSize}, {"optimizer", "adam"}}}};
}

int64_t memoryOf(const std::string& network, int64_t batchSize) {
  return Json::parse(describe(taskOf(network, batchSize).dump())).at("memory").at("total").get<int64_t>();
}

int64_t largestBatchSize(const std::string& network, int64_t budget) {
  Json task = taskOf(network);
  task["memoryBudget"] = budget;
  return Json::parse(describe(task.dump())).at("largestBatchSize").get<int64_t>();
}

TEST(Describe, tellsResolvedLossAndMetrics) {
  Json result = Json::parse(describe(taskJson(R"({"loss": "mse", "metrics": ["acc", "mae"]})")));
  EXPECT_EQ(result["training"]["loss"]["kind"], "mean_squared_error");
  EXPECT_EQ(result["training"]["metrics"][0]["name"], "acc");
  result = Json::parse(describe(taskJson("{}")));
  EXPECT_EQ(result["training"]["loss"]["kind"], "categorical_crossentropy");
  EXPECT_EQ(result["training"]["metrics"][0]["name"], "accuracy");
}

TEST(Describe, tellsMemoryAndResolvedTraining) {
  Json result = Json::parse(describe(taskJson(R"({"optimizer": "adadelta", "batchSize": 4})")));
  EXPECT_EQ(result["parameters"], 10 * 8 + (32 * 16 + 16) + (16 * 3 + 3));
  EXPECT_EQ(result["training"]["optimizer"]["learningRate"], 1.0);
  EXPECT_EQ(result["training"]["batchSize"], 4);
  EXPECT_EQ(result["memory"]["optimizer"], 2 * result["memory"]["parameters"].get<int64_t>());
  EXPECT_GT(result["memory"]["activations"].get<int64_t>(), 0);
  EXPECT_EQ(result["output"]["classes"], 3);
}

TEST(Describe, countsAveragesAndAccumulatedGradients) {
  Json result = Json::parse(
      describe(taskJson(R"({"optimizer": "adagrad", "emaMomentum": 0.9, "clipNorm": 2, "backwardPassesPerStep": 3})")));
  int64_t parameters = result["memory"]["parameters"].get<int64_t>();
  EXPECT_EQ(result["memory"]["optimizer"], 2 * parameters);
  EXPECT_EQ(result["memory"]["gradients"], 2 * parameters);
  EXPECT_EQ(result["memory"]["total"], 5 * parameters + result["memory"]["activations"].get<int64_t>() +
                                           result["memory"]["batches"].get<int64_t>());
  EXPECT_EQ(result["training"]["emaMomentum"], 0.9);
  EXPECT_EQ(result["training"]["clipNorm"], 2.0);
  EXPECT_EQ(result["training"]["backwardPassesPerStep"], 3);
}

struct Budget {
  const char* network;
  int64_t megabytes;
};

class LargestBatch : public testing::TestWithParam<Budget> {};

TEST_P(LargestBatch, fitsTheBudgetAndOneRowMoreDoesNot) {
  auto [network, megabytes] = GetParam();
  int64_t budget = megabytes << 20, largest = largestBatchSize(network, budget);
  EXPECT_GT(largest, 1);
  EXPECT_LE(memoryOf(network, largest), budget);
  EXPECT_GT(memoryOf(network, largest + 1), budget);
}

INSTANTIATE_TEST_SUITE_P(Networks, LargestBatch,
                         testing::Values(Budget{"mnist-cnn", 100}, Budget{"mnist-cnn", 1000},
                                         Budget{"cifar-resnet56v2", 300}, Budget{"captioning", 200},
                                         Budget{"fish-resnet34", 1000}, Budget{"solar-mlp-10", 50},
                                         Budget{"solar-mlp-100", 500}, Budget{"solar-cnn", 200},
                                         Budget{"every-kind", 1}),
                         [](const auto& test) {
                           std::string name = test.param.network + std::to_string(test.param.megabytes);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(LargestBatch, edges) {
  int64_t one = memoryOf("mnist-cnn", 1);
  EXPECT_EQ(largestBatchSize("mnist-cnn", one), 1);
  EXPECT_EQ(largestBatchSize("mnist-cnn", one - 1), 0);
  EXPECT_EQ(largestBatchSize("mnist-cnn", INT64_MAX), INT32_MAX / (24 * 24 * 64));
  EXPECT_EQ(largestBatchSize("solar-mlp-10", INT64_MAX), INT32_MAX / 500);
}

TEST(LargestBatch, isToldOnlyWhereAskedFor) {
  EXPECT_FALSE(Json::parse(describe(taskOf("mnist-cnn").dump())).contains("largestBatchSize"));
  Json task = taskOf("mnist-cnn");
  task["memoryBudget"] = 0;
  try {
    describe(task.dump());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Not positive: memoryBudget 0, give at least 1");
  }
}

}  // namespace
}  // namespace bloomery::train
