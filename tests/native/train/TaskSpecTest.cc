#include "train/TaskSpec.h"

#include <gtest/gtest.h>

#include "base/JsonValue.h"
#include "train/Describe.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

TEST(TaskSpec, aShareOfRowsInNoOrderIsChosenByContent) {
  const std::string unordered = R"(, "data": {"unordered": true})", share = R"({"validationFraction": 0.2})";
  EXPECT_TRUE(TaskSpec::parse(taskJson(share, 0, 1, unordered)).columns.validationByContent);
  EXPECT_FALSE(TaskSpec::parse(taskJson(share, 0, 1)).columns.validationByContent);
  EXPECT_FALSE(TaskSpec::parse(taskJson("{}", 0, 1, unordered)).columns.validationByContent);
}

struct WrongTask {
  const char* name;
  std::string training;
  std::string error;
};

class WrongTasks : public testing::TestWithParam<WrongTask> {};

TEST_P(WrongTasks, areRefusedInOneSentence) {
  try {
    TaskSpec::parse(taskJson(GetParam().training, 0, 2));
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), GetParam().error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Training, WrongTasks,
    testing::Values(
        WrongTask{"batchSizeZero", R"({"batchSize": 0})", "Not positive: batchSize 0, give at least 1"},
        WrongTask{"batchSizeOfTooManyRows", R"({"batchSize": 16777217})",
                  "Too large: batchSize 16777217, give at most 16777216"},
        WrongTask{"bothBatchSizes", R"({"batchSize": 4, "globalBatchSize": 8})",
                  "Both batchSize and globalBatchSize are set: keep one"},
        WrongTask{
            "globalBatchTooSmall", R"({"globalBatchSize": 1})",
            "globalBatchSize is smaller than the number of workers: 1, workers: 2, give each worker at least one row"},
        WrongTask{"epochsZero", R"({"epochs": 0})", "Not positive: epochs 0, give at least 1"},
        WrongTask{"passesZero", R"({"backwardPassesPerStep": 0})",
                  "Not positive: backwardPassesPerStep 0, give at least 1"},
        WrongTask{"compressionOfNoName", R"({"gradientCompression": "fp61"})",
                  "Unknown gradientCompression: fp61, nearest known: fp16"},
        WrongTask{"localStepsZero", R"({"localSteps": 0})", "Not positive: localSteps 0, give at least 1"},
        WrongTask{
            "localStepsOfHalves", R"({"localSteps": 2, "gradientCompression": "fp16"})",
            "Option localSteps above 1 does not go with gradientCompression, since no gradient travels: keep one"},
        WrongTask{"bothClips", R"({"clipNorm": 1, "clipValue": 1})", "Both clipNorm and clipValue are set: keep one"},
        WrongTask{"plateauOfNoValidation", R"({"optimizer": {"learningRate": {"kind": "reduce_on_plateau"}}})",
                  "Schedule reduce_on_plateau watches validation_loss, but no rows are for validation: set "
                  "validationIndicatorCol or validationFraction, or monitor to \"loss\""},
        WrongTask{"unknownOption", R"({"epoch": 1})", "Unknown option: epoch, nearest known: epochs, in training"},
        WrongTask{"unknownLoss", R"({"loss": "categorical_crossentropi"})",
                  "Unknown loss: categorical_crossentropi, nearest known: categorical_crossentropy"},
        WrongTask{"unknownMetric", R"({"metrics": ["acuracy"]})", "Unknown metric: acuracy, nearest known: accuracy"},
        WrongTask{"wrongType", R"({"epochs": "two"})",
                  "Wrong value for epochs of training: \"two\", wanted a whole number"}),
    [](const auto& test) { return test.param.name; });

TEST(TaskSpec, unknownDeviceIsRefused) {
  std::string task = message(R"({"network": )", smallNetwork(), R"(, "worker": {"device": "cup"}})");
  try {
    TaskSpec::parse(task);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Unknown device: cup, nearest known: cpu");
  }
}

TEST(TaskSpec, networkWithoutSoftmaxIsRefused) {
  std::string task = R"({"network": {"layers": [{"kind": "Input", "shape": [4]}, {"kind": "Dense", "units": 3}]},
                         "training": {}})";
  try {
    TaskSpec::parse(task);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "Loss categorical_crossentropy needs a softmax output: set activation=\"softmax\" on layer 'dense', or "
        "fromLogits on the loss");
  }
}

TEST(TaskSpec, globalBatchDividesAsEvenlyAsItCan) {
  TrainSpec spec;
  spec.globalBatchSize = 96;
  EXPECT_EQ(spec.batchSizeOf(0, 2), 48);
  spec.globalBatchSize = 8;
  EXPECT_EQ(spec.batchSizeOf(0, 3), 3);
  EXPECT_EQ(spec.batchSizeOf(1, 3), 3);
  EXPECT_EQ(spec.batchSizeOf(2, 3), 2);
}

TEST(TrainSpec, optionsAloneAreThoseOfTheDefaultOptimizer) {
  Json result = Json::parse(describe(taskJson(R"({"optimizer": {"learningRate": 0.5}})")));
  EXPECT_EQ(result["training"]["optimizer"]["kind"], "adam");
  EXPECT_EQ(result["training"]["optimizer"]["learningRate"], 0.5);
}

}  // namespace
}  // namespace bloomery::train
