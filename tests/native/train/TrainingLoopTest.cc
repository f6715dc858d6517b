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
void expectHalvesToTrainLikeTheWhole(const std::string& network, const std::string& optimizer) {
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
  auto one = trainTogether(R"({"batchSize": 16, )" + training, {whole}, network);
  auto two = trainTogether(R"({"batchSize": 8, )" + training, halves, network);
  ASSERT_EQ(one[0].losses.size(), static_cast<size_t>(kSteps));
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(one[0].losses[step], two[0].losses[step], 1e-4 * one[0].losses[step]) << "step " << step + 1;
    EXPECT_EQ(two[0].losses[step], two[1].losses[step]);
  }
  EXPECT_EQ(two[0].parameters, two[1].parameters);
}

TEST(TrainingLoop, twoWorkersWithTheHalvesOfEachBatchTrainLikeOneWithTheWhole) {
  expectHalvesToTrainLikeTheWhole(smallNetwork(), R"("adadelta")");
}

// Adadelta divides by the size of the gradient and so blows rounding errors up, in 1.2 million parameters beyond any
// tolerance; plain SGD does not.
TEST(TrainingLoop, theSameOnMnistCnn) {
  expectHalvesToTrainLikeTheWhole(network::kMnistCnn, R"({"kind": "sgd", "learningRate": 0.01})");
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

TEST(TrainingLoop, weightsOfZeroChangeNothing) {
  auto result =
      trainTogether(R"({"epochs": 1, "batchSize": 8, "optimizer": "adam", "seed": 1})", {{idRange(0, 30), {}, 0.0f}});
  auto untrained =
      trainTogether(R"({"epochs": 2, "batchSize": 8, "optimizer": "adam", "seed": 1})", {{idRange(0, 30), {}, 0.0f}});
  EXPECT_EQ(result[0].parameters, untrained[0].parameters);
  for (float value : result[0].parameters) ASSERT_TRUE(std::isfinite(value));
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

TEST(TrainingLoop, noRowsAtAllIsAUserError) {
  try {
    trainTogether(R"({"epochs": 1})", {{{}}, {{}}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "No rows to train on: the DataFrame is empty");
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
  }
}

}  // namespace
}  // namespace bloomery::train
