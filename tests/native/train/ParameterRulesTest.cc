// Frozen layers and regularisers through the whole training loop.
#include <gtest/gtest.h>

#include <cmath>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

constexpr float kL1 = 0.03f, kL2 = 0.05f;

// Three Dense layers; `options` by their names.
std::string networkWith(const std::string& frozen, const std::string& trained) {
  return R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Flatten"},
    {"kind": "Dense", "name": "first", "units": 8, "activation": "tanh"},
    {"kind": "Dense", "name": "frozen", "units": 8, "activation": "tanh")" +
         frozen + R"(}, {"kind": "BatchNormalization", "name": "norm", "trainable": false},
    {"kind": "Dense", "name": "trained", "units": 8, "activation": "tanh")" +
         trained + R"(}, {"kind": "Dense", "name": "last", "units": 3, "activation": "softmax"}]})";
}

const std::string kFrozen = R"(, "trainable": false)";
const std::string kRegularized =
    R"(, "kernelRegularizer": {"l1": 0.03, "l2": 0.05}, "biasInitializer": "ones", "biasRegularizer": {"l2": 0.05})";
const std::string kPlain = R"(, "biasInitializer": "ones")";

struct Trained {
  std::map<std::string, std::vector<float>> before, after;  // by parameter
  WorkerResult worker;
};

Trained train(const std::string& network, double learningRate, int epochs = 1) {
  std::string training =
      message(R"({"epochs": )", epochs,
              R"(, "batchSize": 32, "seed": 3, "optimizer": {"kind": "sgd", "learningRate": )", learningRate, "}}");
  Trained result;
  result.worker = trainTogether(training, {{idRange(0, 32), idRange(100, 16)}}, network)[0];
  TaskSpec task = TaskSpec::parse(taskJson(training, 0, 1, "", network));
  ArenaLayout layout = task.graph.parameters().layout();
  Arena initial(layout);
  task.graph.parameters().initialize(task.training.seed, initial);
  for (const Slice& slice : layout.slices()) {
    std::span<float> before = initial.view(slice).span();
    result.before[slice.name] = {before.begin(), before.end()};
    auto first = result.worker.parameters.begin() + static_cast<ptrdiff_t>(slice.offset);
    result.after[slice.name] = {first, first + static_cast<ptrdiff_t>(slice.size)};
  }
  return result;
}

double penaltyOf(const Trained& trained) {
  double penalty = 0;
  for (float weight : trained.before.at("trained/kernel")) penalty += kL1 * std::abs(weight) + kL2 * weight * weight;
  for (float weight : trained.before.at("trained/bias")) penalty += kL2 * weight * weight;
  return penalty;
}

TEST(ParameterRules, frozenLayersKeepTheirBitsAndTheOthersLearn) {
  Trained trained = train(networkWith(kFrozen + kRegularized, kRegularized), 0.1, 3);
  ASSERT_EQ(trained.after.size(), 12u);
  for (const auto& [name, values] : trained.after) {
    bool frozen = name.starts_with("frozen/") || name.starts_with("norm/");
    if (frozen) {
      EXPECT_EQ(values, trained.before[name]) << name;
    } else {
      EXPECT_NE(values, trained.before[name]) << name;
    }
  }
}

TEST(ParameterRules, reportedLossesContainThePenaltyOfTrainedParametersOnly) {
  // So slow that the weights stay the same.
  Trained plain = train(networkWith(kFrozen + kPlain, kPlain), 1e-12);
  Trained regularized = train(networkWith(kFrozen + kRegularized, kRegularized), 1e-12);
  double penalty = penaltyOf(regularized);
  EXPECT_GT(penalty, 0.5);
  auto validationLoss = [](const Trained& trained) {
    return trained.worker.lastEpoch.at("validation").at("loss").get<double>();
  };
  EXPECT_NEAR(regularized.worker.losses[0], plain.worker.losses[0] + penalty, 1e-5);
  EXPECT_NEAR(validationLoss(regularized), validationLoss(plain) + penalty, 1e-5);
}

TEST(ParameterRules, oneStepMovesWeightsByTheGradientOfThePenalty) {
  constexpr float kRate = 0.1f;
  Trained plain = train(networkWith(kFrozen + kPlain, kPlain), kRate);
  Trained regularized = train(networkWith(kFrozen + kRegularized, kRegularized), kRate);
  const std::vector<float>& before = plain.before["trained/kernel"];
  for (size_t i = 0; i < before.size(); ++i) {
    float gradient = kL1 * (before[i] > 0 ? 1.0f : -1.0f) + 2 * kL2 * before[i];
    EXPECT_NEAR(regularized.after["trained/kernel"][i], plain.after["trained/kernel"][i] - kRate * gradient, 1e-6) << i;
  }
  EXPECT_EQ(regularized.after["last/kernel"], plain.after["last/kernel"]);
}

}  // namespace
}  // namespace bloomery::train
