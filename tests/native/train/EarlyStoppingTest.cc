#include "train/EarlyStopping.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

const std::string kHeld = R"(, "columns": {"label": "label", "validation": "held"})";

std::vector<WorkerRows> rows() { return {{idRange(0, 50), idRange(900, 11)}, {idRange(100, 35), idRange(950, 5)}}; }

std::string training(int epochs, const std::string& more) {
  return message(R"({"batchSize": 8, "seed": 3, "metrics": ["accuracy", "mse"], "epochs": )", epochs, more, "}");
}

std::string errorOf(const std::string& more, const std::string& sections = "") {
  try {
    TaskSpec::parse(taskJson(training(3, more), 0, 1, sections));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// No epoch is better than the first by so much.
constexpr const char* kNeverBetter = R"(, "earlyStoppingMinDelta": 1000)";

TEST(EarlyStopping, allWorkersStopAfterTheSameEpoch) {
  for (const char* monitor : {"loss", "validation_loss", "accuracy", "validation_mse"}) {
    SCOPED_TRACE(monitor);
    auto results = trainTogether(
        training(9, message(R"(, "earlyStoppingPatience": 2, "monitor": ")", monitor, "\"", kNeverBetter)), rows(),
        smallNetwork(), kHeld);
    EXPECT_EQ(results[0].losses.size(), 3u);
    EXPECT_EQ(results[1].losses, results[0].losses);
    EXPECT_EQ(results[1].parameters, results[0].parameters);
    std::string why = results[0].lastEpoch.at("stops").get<std::string>();
    EXPECT_EQ(why.find(std::string(monitor) + " did not get better for 2 epochs, it was best, "), 0u) << why;
  }
}

TEST(EarlyStopping, aTrainingThatGetsBetterGoesOn) {
  auto results = trainTogether(
      training(6,
               R"(, "earlyStoppingPatience": 1, "monitor": "loss", "optimizer": {"kind": "sgd", "learningRate": 0.01},
                     "shuffle": false)"),
      rows(), R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.004},
                 {"kind": "Flatten"}, {"kind": "Dense", "units": 3, "activation": "softmax"}]})");
  EXPECT_EQ(results[0].losses.size(), 6u);
  EXPECT_FALSE(results[0].lastEpoch.contains("stops"));
}

TEST(EarlyStopping, theBestEpochsWeightsAreTaken) {
  for (const char* more : {"", R"(, "emaMomentum": 0.8)"}) {
    SCOPED_TRACE(more);
    auto wanted = trainTogether(training(1, more), rows(), smallNetwork(), kHeld);
    auto best = message(more, R"(, "restoreBestWeights": true)", kNeverBetter);
    auto results = trainTogether(training(4, best), rows(), smallNetwork(), kHeld);
    EXPECT_EQ(results[0].losses.size(), 4u);
    EXPECT_EQ(results[0].parameters, wanted[0].parameters);
    EXPECT_EQ(results[1].parameters, wanted[0].parameters);
    auto last = trainTogether(training(4, more), rows(), smallNetwork(), kHeld);
    EXPECT_NE(last[0].parameters, wanted[0].parameters);
  }
}

TEST(EarlyStopping, someMeasuresAreTheBetterTheLargerAndWhatIsNotFiniteNeverIs) {
  struct {
    const char* monitor;
    std::vector<double> values;
    int stopsAfter;  // 0: never
  } cases[] = {{"loss", {3, 2, 1, 0.5}, 0},           {"loss", {3, 2, 2, 2}, 4},
               {"loss", {3, 3.1, 2.95, 3}, 3},        {"accuracy", {0.1, 0.3, 0.5, 0.9}, 0},
               {"accuracy", {0.9, 0.5, 0.4, 0.3}, 3}, {"mse", {0.9, 0.5, 0.4, 0.3}, 0},
               {"loss", {NAN, INFINITY, 1, 1}, 2}};
  TaskSpec task = TaskSpec::parse(taskJson(training(9, "")));
  for (const auto& one : cases) {
    SCOPED_TRACE(one.monitor);
    EarlyStopping stopping({.patience = 2, .minDelta = 0.09, .monitor = one.monitor}, task.training.heads, 0);
    int stopped = 0;
    for (size_t i = 0; i < one.values.size() && stopped == 0; ++i) {
      double value = one.values[i];
      bool isLoss = std::string(one.monitor) == "loss";
      stopping.epochEnded(static_cast<int64_t>(i) + 1, {isLoss ? value : 0.5, {value, value}}, std::nullopt);
      if (stopping.stops()) stopped = static_cast<int>(i) + 1;
    }
    EXPECT_EQ(stopped, one.stopsAfter);
  }
}

TEST(EarlyStopping, whatCannotBeWatchedIsRefusedBeforeAnyRow) {
  EXPECT_EQ(errorOf(R"(, "earlyStoppingPatience": 2, "monitor": "acuracy")"),
            "Unknown monitor: acuracy, nearest known: accuracy");
  EXPECT_EQ(errorOf(R"(, "earlyStoppingPatience": 0)"), "Not positive: earlyStoppingPatience 0, give at least 1 epoch");
  EXPECT_EQ(errorOf(R"(, "restoreBestWeights": true, "earlyStoppingMinDelta": -1)"),
            "Not a finite number of at least 0: earlyStoppingMinDelta -1");
  EXPECT_EQ(errorOf(R"(, "monitor": "loss")"),
            "monitor is set, but neither earlyStoppingPatience nor restoreBestWeights: set one of them");
  EXPECT_EQ(errorOf(R"(, "earlyStoppingPatience": 2, "monitor": "validation_mse")"),
            "No rows are for validation, which monitor validation_mse watches: set validationIndicatorCol or "
            "validationFraction, or monitor to \"mse\"");
  EXPECT_EQ(errorOf(R"(, "earlyStoppingPatience": 2, "monitor": "validation_mse")", kHeld), "");
}

TEST(EarlyStopping, validationIsWatchedByDefaultWhereThereIsAny) {
  auto monitor = [](const std::string& sections) {
    return TaskSpec::parse(taskJson(training(3, R"(, "earlyStoppingPatience": 2)"), 0, 1, sections))
        .training.stopping.monitor;
  };
  EXPECT_EQ(monitor(""), "loss");
  EXPECT_EQ(monitor(kHeld), "validation_loss");
}

TEST(EarlyStopping, noRowForValidationIsAnError) {
  std::vector<WorkerRows> unmarked = {{idRange(0, 20)}};
  try {
    trainTogether(training(3, R"(, "earlyStoppingPatience": 1)"), unmarked, smallNetwork(), kHeld);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "No row is for validation by column 'held', which monitor validation_loss watches: choose some");
  }
}

}  // namespace
}  // namespace bloomery::train
