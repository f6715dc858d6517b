#include <gtest/gtest.h>

#include <cmath>

#include "network/Networks.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

constexpr int kSteps = 50;
constexpr int64_t kBatch = 8;

// Step s takes rows [s * width, (s + 1) * width) of a store that holds just the rows of this worker.
StepRowsOfEpoch oneStepAnEpoch(int64_t width) {
  return [width](int64_t epoch) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < width; ++i) rows.push_back((epoch - 1) * width + i);
    return std::make_unique<data::ExplicitRows>(std::vector<std::vector<int64_t>>{rows});
  };
}

// 50 steps of one worker, and of two that get the halves of each of its batches. With this seed no ReLU and no maximum
// of the networks below changes over by rounding alone; where one does, the two go apart from there on.
void expectHalvesToTrainLikeTheWhole(const std::string& network, const std::string& optimizer,
                                     const std::string& device = nn::kDefaultDevice) {
  WorkerRows whole{idRange(0, kSteps * 2 * kBatch), {}, 1.0f, oneStepAnEpoch(2 * kBatch)};
  std::vector<WorkerRows> halves(2);
  for (int step = 0; step < kSteps; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      auto ids = idRange(static_cast<uint64_t>((2 * step + rank) * kBatch), kBatch);
      auto& rows = halves[static_cast<size_t>(rank)].training;
      rows.insert(rows.end(), ids.begin(), ids.end());
    }
  }
  for (WorkerRows& half : halves) half.steps = oneStepAnEpoch(kBatch);
  std::string training = message(R"("epochs": 50, "seed": 2, "optimizer": )", optimizer, "}");
  auto one = trainTogether(R"({"batchSize": 16, )" + training, {whole}, network, "", "20", device);
  auto two = trainTogether(R"({"batchSize": 8, )" + training, halves, network, "", "20", device);
  ASSERT_EQ(one[0].losses.size(), static_cast<size_t>(kSteps));
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(one[0].losses[step], two[0].losses[step], 1e-4 * one[0].losses[step]) << "step " << step + 1;
    EXPECT_EQ(two[0].losses[step], two[1].losses[step]);
  }
  EXPECT_EQ(two[0].parameters, two[1].parameters);
}

TEST(TrainingLoop, twoWorkersWithTheHalvesOfEachBatchTrainLikeOneWithTheWhole) {
  expectHalvesToTrainLikeTheWhole(smallNetwork(), R"({"kind": "adadelta", "learningRate": 0.1})");
}

// Steps small enough that a rounding error does not tip a ReLU or a maximum of a pooling over, after which two
// trainings go different ways.
TEST(TrainingLoop, theSameOnMnistCnn) {
  expectHalvesToTrainLikeTheWhole(network::kMnistCnn, R"({"kind": "sgd", "learningRate": 0.001})", "cpu");
}

TEST(TrainingLoop, everyDeviceTrainsAlike) {
  std::vector<std::vector<double>> losses;
  for (const char* device : {"cpu", "reference"}) {
    std::string task = message(R"({"network": )", smallNetwork(), R"(, "training": {"epochs": 3, "batchSize": 7},)",
                               R"( "worker": {"device": ")", device, "\"}}");
    Worker worker(task, {idRange(0, 40)}, std::move(comm::makeLocalGroup(1)[0]));
    worker.run();
    losses.push_back(worker.result().losses);
  }
  ASSERT_EQ(losses[0].size(), 3u);
  for (size_t epoch = 0; epoch < 3; ++epoch) EXPECT_NEAR(losses[0][epoch], losses[1][epoch], 1e-4) << epoch;
  EXPECT_NE(losses[0], losses[1]);  // not twice the same device: sums of other orders round otherwise
}

TEST(TrainingLoop, sameSeedGivesTheSameBits) {
  std::string training = R"({"epochs": 3, "batchSize": 7, "optimizer": "adam", "seed": 5})";
  std::vector<WorkerRows> rows = {{idRange(0, 40)}, {idRange(100, 25)}};
  auto first = trainTogether(training, rows), second = trainTogether(training, rows);
  EXPECT_EQ(first[0].parameters, second[0].parameters);
  EXPECT_EQ(first[0].losses, second[0].losses);
  auto other = trainTogether(R"({"epochs": 3, "batchSize": 7, "optimizer": "adam", "seed": 6})", rows);
  EXPECT_NE(first[0].parameters, other[0].parameters);
}

TEST(TrainingLoop, weightsOfTwoGiveTheBitsOfNone) {
  std::string training = R"({"epochs": 2, "batchSize": 8, "optimizer": "adam"})";
  auto none = trainTogether(training, {{idRange(0, 30)}, {idRange(50, 20)}});
  auto twos = trainTogether(training, {{idRange(0, 30), {}, 2.0f}, {idRange(50, 20), {}, 2.0f}});
  EXPECT_EQ(none[0].parameters, twos[0].parameters);
  EXPECT_EQ(none[0].losses, twos[0].losses);
}

TEST(TrainingLoop, rowsThatAllWeighNothingAreRefused) {
  std::string training = R"({"epochs": 1, "batchSize": 8, "optimizer": "adam", "seed": 1})";
  std::string columns = R"(, "columns": {"label": "label", "weight": "w"})";
  std::vector<WorkerRows> rows = {{idRange(0, 30), {}, 0.0f}, {idRange(50, 20), {}, 0.0f}};
  try {
    trainTogether(training, rows, smallNetwork(), columns);
    ADD_FAILURE() << "Nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "All 50 rows weigh 0, so nothing is learnt: look at column 'w', the weights");
  }
  // Where some do not, those of a step may.
  rows[1].weight = 1.0f;
  auto trained = trainTogether(training, rows);
  for (float value : trained[0].parameters) ASSERT_TRUE(std::isfinite(value));
}

struct Uneven {
  const char* name;
  std::vector<uint64_t> rows;  // by worker
};

class UnevenRows : public testing::TestWithParam<Uneven> {};

TEST_P(UnevenRows, everyRowIsUsedOncePerEpoch) {
  std::vector<WorkerRows> rows;
  uint64_t first = 0, total = 0;
  for (uint64_t count : GetParam().rows) {
    rows.push_back({idRange(first, count)});
    first += 1000;
    total += count;
  }
  auto results = trainTogether(R"({"epochs": 3, "batchSize": 4, "optimizer": "adam"})", rows);
  for (const WorkerResult& result : results) {
    EXPECT_EQ(result.samples, std::vector<int64_t>(3, static_cast<int64_t>(total)));
    EXPECT_EQ(result.parameters, results[0].parameters);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnevenRows,
                         testing::Values(Uneven{"even", {8, 8}}, Uneven{"ragged", {13, 2}}, Uneven{"oneEmpty", {9, 0}},
                                         Uneven{"firstEmpty", {0, 9}}, Uneven{"fewerRowsThanWorkers", {1, 0, 1, 0}},
                                         Uneven{"single", {1}}, Uneven{"four", {5, 17, 4, 1}}),
                         [](const auto& test) { return test.param.name; });

TEST(TrainingLoop, learnsAndValidatesOverAllWorkers) {
  auto results =
      trainTogether(R"({"epochs": 12, "batchSize": 16, "optimizer": {"kind": "adam", "learningRate": 0.01}})",
                    {{idRange(0, 300), idRange(5000, 40)}, {idRange(1000, 200)}});
  EXPECT_LT(results[0].losses.back(), 0.5 * results[0].losses.front());
  EXPECT_GT(results[0].lastEpoch.at("validation").at("metrics").at("accuracy").get<double>(), 0.9);
  EXPECT_EQ(results[0].lastEpoch.at("validation"), results[1].lastEpoch.at("validation"));
}

// Each epoch takes the rows in batches of `width`, in their order.
StepRowsOfEpoch batchesOf(int64_t numBatches, int64_t width) {
  return [=](int64_t) {
    std::vector<std::vector<int64_t>> batches;
    for (int64_t i = 0; i < numBatches * width; i += width) {
      auto& rows = batches.emplace_back();
      for (int64_t row = i; row < i + width; ++row) rows.push_back(row);
    }
    return std::make_unique<data::ExplicitRows>(batches);
  };
}

void expectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-5) << i;
}

TEST(TrainingLoop, passesOfBatchesTrainLikeOneBatchOfThemAll) {
  // Nine batches of 8: two steps of four passes and one of a single pass.
  const char* options = R"("epochs": 2, "optimizer": {"kind": "sgd", "learningRate": 0.1, "momentum": 0.9}, "seed": 3)";
  auto passes = trainTogether(message("{", options, R"(, "batchSize": 8, "backwardPassesPerStep": 4})"),
                              {{idRange(0, 72), {}, 1.0f, batchesOf(9, 8)}});
  StepRowsOfEpoch wholes = [](int64_t) {
    std::vector<std::vector<int64_t>> batches(3);
    for (int64_t row = 0; row < 72; ++row) batches[static_cast<size_t>(row / 32)].push_back(row);
    return std::make_unique<data::ExplicitRows>(batches);
  };
  auto whole = trainTogether(message("{", options, R"(, "batchSize": 32})"), {{idRange(0, 72), {}, 1.0f, wholes}});
  expectNear(passes[0].parameters, whole[0].parameters);
  EXPECT_EQ(passes[0].lastEpoch.at("steps"), 3);
  for (size_t epoch = 0; epoch < 2; ++epoch) EXPECT_NEAR(passes[0].losses[epoch], whole[0].losses[epoch], 1e-5);
}

TEST(TrainingLoop, passesOfUnevenWorkersAreWeighedByTheirRows) {
  // Together the rows of one batch: 16 and 8 in passes of 8, so that the second worker runs out first.
  const char* options =
      R"("epochs": 3, "optimizer": {"kind": "sgd", "learningRate": 0.1}, "seed": 3, "shuffle": false)";
  auto two = trainTogether(message("{", options, R"(, "batchSize": 8, "backwardPassesPerStep": 2})"),
                           {{idRange(0, 16)}, {idRange(16, 8)}});
  auto one = trainTogether(message("{", options, R"(, "batchSize": 24})"), {{idRange(0, 24)}});
  expectNear(two[0].parameters, one[0].parameters);
  EXPECT_EQ(two[0].parameters, two[1].parameters);
}

TEST(TrainingLoop, passesUseEveryRowOnceAndIgnoreTheScaleOfWeights) {
  std::string training = R"({"epochs": 2, "batchSize": 4, "optimizer": "adam", "backwardPassesPerStep": 3})";
  auto none = trainTogether(training, {{idRange(0, 30)}, {idRange(50, 5)}, {{}}});
  auto twos = trainTogether(training, {{idRange(0, 30), {}, 2.0f}, {idRange(50, 5), {}, 2.0f}, {{}}});
  EXPECT_EQ(none[0].samples, std::vector<int64_t>(2, 35));
  EXPECT_EQ(none[0].parameters, twos[0].parameters);
  EXPECT_EQ(none[0].parameters, none[2].parameters);
  WorkerRows mostlyZeros = {idRange(0, 30)};
  mostlyZeros.weightOf = [](uint64_t id) { return id == 17 ? 1.0f : 0.0f; };
  auto zeros = trainTogether(training, {mostlyZeros});
  for (float value : zeros[0].parameters) ASSERT_TRUE(std::isfinite(value));
}

TEST(TrainingLoop, averagesAreEvaluatedAndKept) {
  std::string options = R"("epochs": 4, "batchSize": 8, "optimizer": "adam", "seed": 2)";
  std::vector<WorkerRows> rows = {{idRange(0, 60), idRange(500, 20)}, {idRange(100, 40)}};
  auto plain = trainTogether("{" + options + "}", rows);
  auto averaged = trainTogether("{" + options + R"(, "emaMomentum": 0.9})", rows);
  auto last = trainTogether("{" + options + R"(, "emaMomentum": 0})", rows);
  EXPECT_EQ(averaged[0].losses, plain[0].losses);  // training goes on with the weights themselves
  EXPECT_NE(averaged[0].parameters, plain[0].parameters);
  EXPECT_EQ(averaged[0].parameters, averaged[1].parameters);
  EXPECT_NE(averaged[0].lastEpoch.at("validation"), plain[0].lastEpoch.at("validation"));
  expectNear(last[0].parameters, plain[0].parameters);
}

TEST(TrainingLoop, learningRateFollowsTheSchedule) {
  auto result = trainTogether(
      R"({"epochs": 3, "batchSize": 8, "optimizer": {"kind": "sgd", "learningRate":
          {"kind": "step", "initialLearningRate": 0.5, "factor": 0.5, "everyEpochs": 1}}})",
      {{idRange(0, 30)}, {idRange(50, 20)}});
  EXPECT_EQ(result[0].lastEpoch.at("learningRate"), 0.125);
}

TEST(TrainingLoop, learningRateFallsOnAPlateauOnAllWorkers) {
  // No loss is better by a million.
  auto result = trainTogether(
      R"({"epochs": 5, "batchSize": 8, "optimizer": {"kind": "sgd", "learningRate": {"kind": "reduce_on_plateau",
          "initialLearningRate": 0.5, "factor": 0.5, "patience": 2, "minDelta": 1e6, "monitor": "loss"}}})",
      {{idRange(0, 30)}, {idRange(50, 20)}});
  for (const WorkerResult& worker : result) EXPECT_EQ(worker.lastEpoch.at("learningRate"), 0.25);
  EXPECT_EQ(result[0].parameters, result[1].parameters);
}

TEST(TrainingLoop, noRowsAtAllIsAUserError) {
  try {
    trainTogether(R"({"epochs": 1})", {{{}}, {{}}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "No rows to train on: the data is empty");
  }
}

TEST(TrainingLoop, onlyValidationRowsAreAUserErrorThatNamesTheirColumn) {
  try {
    trainTogether(R"({"epochs": 1})", {{{}, idRange(0, 5)}}, smallNetwork(),
                  R"(, "columns": {"label": "label", "validation": "isTest"})");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "No rows to train on: all 5 rows are for validation by column 'isTest'");
  }
}

TEST(TrainingLoop, lossThatIsNotFiniteStopsWithEpochAndStep) {
  try {
    trainTogether(R"({"epochs": 50, "batchSize": 4, "optimizer": {"kind": "sgd", "learningRate": 1e30}})",
                  {{idRange(0, 40)}, {idRange(100, 40)}});
    FAIL();
  } catch (const UserError& error) {
    std::string text = error.what();
    EXPECT_NE(text.find("Loss is not finite: "), std::string::npos) << text;
    EXPECT_NE(text.find(", epoch 1, step "), std::string::npos) << text;
    EXPECT_EQ(text.find("-nan"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bloomery::train
