// Workers that train steps on their own and average their parameters.
#include <gtest/gtest.h>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

// Statistics to be averaged, and a layer that nobody trains.
std::string network() {
  return R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Flatten"}, {"kind": "Dense", "name": "frozen", "units": 7, "trainable": false},
    {"kind": "BatchNormalization"}, {"kind": "Dense", "units": 9, "activation": "tanh",
     "kernelRegularizer": {"l2": 0.001}}, {"kind": "Dropout", "rate": 0.2},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

struct Case {
  const char* name;
  const char* options;
};

class LocalStepsOf : public testing::TestWithParam<Case> {};

// Two that do the same stay as one, whose mean with itself is itself.
TEST_P(LocalStepsOf, twoWorkersWithTheSameRowsTrainLikeOne) {
  auto training = [](int64_t localSteps) {
    return message(R"({"epochs": 3, "batchSize": 8, "seed": 2, "localSteps": )", localSteps, ", ", GetParam().options,
                   "}");
  };
  WorkerRows rows{idRange(0, 45), idRange(500, 10)};
  auto two = trainTogether(training(3), {rows, rows}, network());
  auto one = trainTogether(training(1), {rows}, network());
  EXPECT_EQ(two[0].parameters, one[0].parameters);
  EXPECT_EQ(two[1].parameters, one[0].parameters);
  for (size_t epoch = 0; epoch < 3; ++epoch) EXPECT_NEAR(two[0].losses[epoch], one[0].losses[epoch], 1e-5);
}

// At each epoch's end the guard compares them.
TEST_P(LocalStepsOf, workersWithOtherRowsAreEqualAgainAfterEachEpoch) {
  std::string training =
      message(R"({"epochs": 4, "batchSize": 8, "seed": 2, "localSteps": 4, )", GetParam().options, "}");
  std::vector<WorkerRows> rows = {{idRange(0, 90), idRange(5000, 10)}, {idRange(1000, 23)}, {{}}};
  auto results = trainTogether(training, rows, network());
  for (const WorkerResult& worker : results) {
    EXPECT_EQ(worker.parameters, results[0].parameters);
    EXPECT_EQ(worker.losses, results[0].losses);
    EXPECT_EQ(worker.lastEpoch.at("validation"), results[0].lastEpoch.at("validation"));
  }
  EXPECT_EQ(results[0].samples, std::vector<int64_t>(4, 113));
  EXPECT_LT(results[0].losses.back(), results[0].losses.front());
  EXPECT_EQ(trainTogether(training, rows, network())[0].parameters, results[0].parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LocalStepsOf,
    testing::Values(Case{"sgd", R"("optimizer": {"kind": "sgd", "learningRate": 0.1})"},
                    Case{"adam", R"("optimizer": {"kind": "adam", "learningRate": 0.01})"},
                    Case{"averaged", R"("optimizer": "adam", "emaMomentum": 0.8)"},
                    Case{"clippedNorm", R"("optimizer": {"kind": "sgd", "learningRate": 0.1}, "clipNorm": 0.2)"},
                    Case{"passes", R"("optimizer": "adam", "backwardPassesPerStep": 2)"},
                    Case{"plateau", R"("optimizer": {"kind": "sgd", "learningRate": {"kind": "reduce_on_plateau",
                        "initialLearningRate": 0.1, "monitor": "loss", "patience": 1, "minDelta": 0.05}})"}),
    [](const auto& test) { return std::string(test.param.name); });

// One step of plain gradients is linear: the mean of the parameters, by rows, is a step by the mean of the gradients.
TEST(LocalSteps, countAsMuchAsTheirRows) {
  auto train = [](int64_t localSteps) {
    std::string training = message(R"({"epochs": 5, "batchSize": 12, "shuffle": false, "localSteps": )", localSteps,
                                   R"(, "optimizer": {"kind": "sgd", "learningRate": 0.1}})");
    return trainTogether(training, {{idRange(0, 12)}, {idRange(100, 3)}})[0];
  };
  WorkerResult averaged = train(5), summed = train(1);
  EXPECT_NE(averaged.parameters, summed.parameters);
  for (size_t i = 0; i < summed.parameters.size(); ++i) {
    ASSERT_NEAR(averaged.parameters[i], summed.parameters[i], 1e-5) << i;
  }
}

TEST(LocalSteps, parametersThatNobodyTrainsKeepTheirBits) {
  std::string training = R"({"epochs": 2, "batchSize": 4, "localSteps": 2, "optimizer": "sgd", "seed": 6})";
  auto results = trainTogether(training, {{idRange(0, 30)}, {idRange(100, 11)}, {idRange(200, 7)}}, network());
  TaskSpec task = TaskSpec::parse(taskJson(training, 0, 1, "", network()));
  ArenaLayout layout = task.graph.parameters().layout();
  Arena initial(layout);
  task.graph.parameters().initialize(6, initial);
  const Slice& frozen = layout.find("frozen/kernel");
  for (size_t i = 0; i < frozen.size; ++i) {
    ASSERT_EQ(results[0].parameters[frozen.offset + i], initial.view(frozen).data[i]);
  }
}

}  // namespace
}  // namespace bloomery::train
