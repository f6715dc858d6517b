// Training with every loss, target and metric, on one worker and on several.
#include <gtest/gtest.h>

#include <cmath>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

std::string networkOf(const std::string& head) {
  return R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Flatten"}, {"kind": "Dense", "units": 12, "activation": "relu"}, )" +
         head + "]}";
}

const std::string kSoftmax = networkOf(R"({"kind": "Dense", "units": 3, "activation": "softmax"})");
const std::string kSigmoid = networkOf(R"({"kind": "Dense", "units": 1, "activation": "sigmoid"})");
const std::string kLinear = networkOf(R"({"kind": "Dense", "units": 1})");
const std::string kLogits = networkOf(R"({"kind": "Dense", "units": 3})");

struct Learnt {
  const char* name;
  const std::string& network;
  std::string loss;
  std::string metric;
  double atLeast;
};

class EveryLoss : public testing::TestWithParam<Learnt> {};

TEST_P(EveryLoss, isLearnt) {
  const Learnt& one = GetParam();
  std::string training = message(R"({"epochs": 25, "batchSize": 16, "optimizer": {"kind": "adam", "learningRate": 0.01},
                                     "loss": )",
                                 one.loss, R"(, "metrics": [")", one.metric, "\"]}");
  auto results = trainTogether(training, {{idRange(0, 200), idRange(5000, 50)}, {idRange(1000, 150)}}, one.network);
  EXPECT_LT(results[0].losses.back(), 0.5 * results[0].losses.front());
  EXPECT_GT(results[0].lastEpoch.at("validation").at("metrics").at(one.metric).get<double>(), one.atLeast);
  EXPECT_EQ(results[0].lastEpoch.at("metrics"), results[1].lastEpoch.at("metrics"));
  EXPECT_EQ(results[0].parameters, results[1].parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Losses, EveryLoss,
    testing::Values(Learnt{"categorical", kSoftmax, R"("categorical_crossentropy")", "accuracy", 0.9},
                    Learnt{"sparse", kSoftmax, R"("sparse_categorical_crossentropy")", "f1", 0.9},
                    Learnt{"fromLogits", kLogits, R"({"kind": "categorical_crossentropy", "fromLogits": true})",
                           "accuracy", 0.9},
                    Learnt{"squaredErrorOnSoftmax", kSoftmax, R"("mse")", "accuracy", 0.9},
                    Learnt{"binary", kSigmoid, R"("binary_crossentropy")", "auc", 0.95},
                    Learnt{"squaredError", kLinear, R"("mean_squared_error")", "r2", 0.7},
                    Learnt{"huber", kLinear, R"({"kind": "huber", "delta": 0.5})", "r2", 0.7},
                    Learnt{"absoluteError", kLinear, R"("mae")", "r2", 0.5}),
    [](const auto& test) { return test.param.name; });

// With a learning rate that changes nothing, every split of the rows must measure the same.
TEST(Metrics, areOfTheWholeSetOnAnyNumberOfWorkers) {
  struct {
    const std::string& network;
    std::string options;
  } cases[] = {{kSoftmax, R"("metrics": ["accuracy", "precision", "recall", "f1", "mse",
                             {"kind": "top_k_categorical_accuracy", "k": 2}])"},
               {kSigmoid, R"("loss": "binary_crossentropy", "metrics": ["accuracy", "auc", "precision", "f1", "mae"])"},
               {kLinear, R"("loss": "mse", "metrics": ["mse", "rmse", "mae", "r2"])"}};
  for (const auto& one : cases) {
    std::string training =
        R"({"epochs": 1, "batchSize": 8, "optimizer": {"kind": "sgd", "learningRate": 1e-30}, )" + one.options + "}";
    auto whole = trainTogether(training, {{idRange(0, 90), idRange(1000, 70)}}, one.network);
    auto parts = trainTogether(
        training, {{idRange(0, 50), idRange(1000, 9)}, {idRange(50, 3)}, {idRange(53, 37), idRange(1009, 61)}},
        one.network);
    for (const char* which : {"training", "validation"}) {
      const Json& a = which[0] == 't' ? whole[0].lastEpoch : whole[0].lastEpoch.at("validation");
      const Json& b = which[0] == 't' ? parts[0].lastEpoch : parts[0].lastEpoch.at("validation");
      EXPECT_NEAR(a.at("loss").get<double>(), b.at("loss").get<double>(), 1e-5);
      EXPECT_GE(a.at("metrics").size(), 4u);
      for (const auto& metric : a.at("metrics").items()) {
        EXPECT_NEAR(metric.value().get<double>(), b.at("metrics").at(metric.key()).get<double>(), 1e-6)
            << which << " " << metric.key();
      }
    }
  }
}

TEST(Targets, oneHotVectorsTrainLikeTheirClasses) {
  std::string training = R"({"epochs": 2, "batchSize": 8, "optimizer": "adam"})";
  WorkerRows rows{idRange(0, 60)};
  auto classes = trainTogether(training, {rows}, kSoftmax);
  rows.vectors = true;
  auto vectors = trainTogether(training, {rows}, kSoftmax);
  for (size_t i = 0; i < classes[0].parameters.size(); ++i) {
    ASSERT_NEAR(classes[0].parameters[i], vectors[0].parameters[i], 1e-4) << i;
  }
  EXPECT_EQ(classes[0].lastEpoch.at("metrics"), vectors[0].lastEpoch.at("metrics"));
}

TEST(ClassWeights, ofTwoGiveTheBitsOfNoneAndZeroLeavesAClassOut) {
  std::string training = R"({"epochs": 2, "batchSize": 8, "optimizer": "adam")";
  std::vector<WorkerRows> rows = {{idRange(0, 60)}, {idRange(100, 33)}};
  auto none = trainTogether(training + "}", rows, kSoftmax);
  auto twos = trainTogether(training + R"(, "classWeights": [2, 2, 2]})", rows, kSoftmax);
  EXPECT_EQ(none[0].parameters, twos[0].parameters);
  EXPECT_EQ(none[0].losses, twos[0].losses);

  // Without the rows of class 0, in steps of the same others, the updates are the same.
  StepRowsOfEpoch all = [](int64_t) {
    return std::make_unique<data::ExplicitRows>(std::vector<std::vector<int64_t>>{{0, 1, 2, 3, 4, 5, 6, 7}});
  };
  std::vector<int64_t> others;
  for (int64_t id = 0; id < 8; ++id) {
    if (philox(7, static_cast<uint64_t>(id), 0)[0] % 3 != 0) others.push_back(id);
  }
  StepRowsOfEpoch some = [others](int64_t) {
    return std::make_unique<data::ExplicitRows>(std::vector<std::vector<int64_t>>{others});
  };
  auto zero = trainTogether(training + R"(, "classWeights": {"0": 0}})", {{idRange(0, 8), {}, 1.0f, all}}, kSoftmax);
  auto without = trainTogether(training + "}", {{idRange(0, 8), {}, 1.0f, some}}, kSoftmax);
  ASSERT_LT(others.size(), 8u);
  EXPECT_NEAR(zero[0].losses[1], without[0].losses[1], 1e-6);
  for (size_t i = 0; i < zero[0].parameters.size(); ++i) {
    ASSERT_NEAR(zero[0].parameters[i], without[0].parameters[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace bloomery::train
