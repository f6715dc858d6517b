#include "optim/Schedule.h"

#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::optim {

namespace {

ScheduleSpec read(const std::string& text) { return readSchedule(parseJson(text, "schedule"), 0.5, "optimizer 'sgd'"); }

struct Case {
  const char* name;
  const char* text;
  std::vector<std::pair<int64_t, double>> rates;  // by step, with 10 steps an epoch
};

class ScheduleTest : public testing::TestWithParam<Case> {};

TEST_P(ScheduleTest, givesTheRatesWorkedOutByHand) {
  ScheduleSpec spec = read(GetParam().text);
  Schedule schedule(spec);
  for (const auto& [step, rate] : GetParam().rates) EXPECT_NEAR(schedule.at(step, 10), rate, 1e-9) << step;
  ScheduleSpec again = readSchedule(toJson(spec), 7, "optimizer");
  EXPECT_EQ(toJson(again), toJson(spec));
  for (const auto& [step, rate] : GetParam().rates) EXPECT_NEAR(Schedule(again).at(step, 10), rate, 1e-9) << step;
}

INSTANTIATE_TEST_SUITE_P(
    kinds, ScheduleTest,
    testing::Values(
        Case{"number", "0.25", {{0, 0.25}, {1000, 0.25}}},
        Case{"constant", R"({"kind": "constant", "initialLearningRate": 0.1})", {{0, 0.1}, {9, 0.1}}},
        Case{"optimizersRate", R"({"kind": "constant"})", {{0, 0.5}}},
        Case{"warmup", R"({"kind": "constant", "warmupSteps": 5})", {{0, 0}, {1, 0.1}, {4, 0.4}, {5, 0.5}, {99, 0.5}}},
        Case{"warmupFromAbove",
             R"({"kind": "constant", "warmupEpochs": 0.4, "warmupStartRate": 0.1})",
             {{0, 0.1}, {2, 0.3}, {4, 0.5}}},
        Case{"stepByEpochs",
             R"({"kind": "step", "initialLearningRate": 1, "everyEpochs": 3})",
             {{0, 1}, {29, 1}, {30, 0.1}, {59, 0.1}, {60, 0.01}}},
        Case{"stepBySteps",
             R"({"kind": "step", "initialLearningRate": 1, "factor": 0.5, "everySteps": 4})",
             {{3, 1}, {4, 0.5}, {8, 0.25}}},
        Case{"exponential",
             R"({"kind": "exponential", "initialLearningRate": 1, "decaySteps": 4, "decayRate": 0.25})",
             {{0, 1}, {2, 0.5}, {4, 0.25}, {6, 0.125}}},
        Case{"staircase",
             R"({"kind": "exponential", "decayEpochs": 0.4, "decayRate": 0.25, "staircase": true})",
             {{3, 0.5}, {4, 0.125}, {7, 0.125}}},
        Case{"polynomial",
             R"({"kind": "polynomial", "initialLearningRate": 1, "decaySteps": 10, "endLearningRate": 0.5})",
             {{0, 1}, {5, 0.75}, {10, 0.5}, {99, 0.5}}},
        Case{"polynomialDefaultEnd",
             R"({"kind": "polynomial", "initialLearningRate": 1, "decayEpochs": 1, "power": 2})",
             {{5, 0.9999 * 0.25 + 0.0001}, {10, 0.0001}}},
        Case{"polynomialCycle",
             R"({"kind": "polynomial", "decaySteps": 4, "endLearningRate": 0.1, "cycle": true})",
             {{0, 0.5}, {4, 0.1}, {6, 0.2}, {8, 0.1}, {9, 0.2}}},
        Case{"cosine",
             R"({"kind": "cosine", "initialLearningRate": 1, "decaySteps": 12})",
             {{0, 1}, {4, 0.75}, {6, 0.5}, {8, 0.25}, {12, 0}, {50, 0}}},
        Case{"cosineAlpha", R"({"kind": "cosine", "decayEpochs": 1, "alpha": 0.2})", {{0, 0.5}, {5, 0.3}, {10, 0.1}}},
        Case{"cosineWarmup",
             R"({"kind": "cosine", "initialLearningRate": 1, "decaySteps": 12, "warmupSteps": 4})",
             {{0, 0}, {3, 0.75}, {4, 1}, {10, 0.5}, {16, 0}}},
        Case{"cosineWarmupTarget",
             R"({"kind": "cosine", "initialLearningRate": 0.2, "decaySteps": 12, "warmupTarget": 1, "warmupSteps": 4})",
             {{0, 0.2}, {2, 0.6}, {4, 1}, {10, 0.5}, {16, 0}}},
        Case{"cosineRestarts",
             R"({"kind": "cosine_restarts", "initialLearningRate": 1, "firstDecaySteps": 4, "mMul": 0.5})",
             {{0, 1}, {2, 0.5}, {4, 0.5}, {8, 0.25}, {12, 0.25}, {20, 0.125}}},
        Case{"cosineRestartsEqual",
             R"({"kind": "cosine_restarts", "initialLearningRate": 1, "firstDecayEpochs": 1, "tMul": 1, "alpha": 0.5})",
             {{0, 1}, {5, 0.75}, {10, 1}, {15, 0.75}}},
        Case{"piecewise",
             R"({"kind": "piecewise", "boundaries": [3, 5], "values": [1, 0.5, 0.25]})",
             {{0, 1}, {3, 1}, {4, 0.5}, {5, 0.5}, {6, 0.25}, {99, 0.25}}},
        Case{"piecewiseEpochs",
             R"({"kind": "piecewise", "boundaryEpochs": [1, 3], "values": [1, 0.5, 0.25]})",
             {{0, 1}, {9, 1}, {10, 0.5}, {29, 0.5}, {30, 0.25}}},
        // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=20, pct_start=0.3)
        Case{"oneCycle",
             R"({"kind": "one_cycle", "maxLearningRate": 1, "totalSteps": 20})",
             {{0, 0.04}, {1, 0.1316718427000252}, {5, 1}, {12, 0.500002}, {19, 4e-6}, {40, 4e-6}}},
        Case{"oneCycleLinear",
             R"({"kind": "one_cycle", "totalEpochs": 2, "pctStart": 0.55, "divFactor": 5, "finalDivFactor": 10,
                 "annealStrategy": "linear"})",
             {{0, 0.1}, {5, 0.3}, {10, 0.5}, {19, 0.01}}}),
    [](const auto& test) { return test.param.name; });

TEST(ScheduleSpecTest, wrongSchedulesAreRefusedWithTheReason) {
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"kind": "cosin", "decaySteps": 4})",
            "Unknown schedule: cosin, nearest known: cosine, in schedule 'cosin' of optimizer 'sgd'"},
           {R"({"decaySteps": 4})", "Missing option: kind, in learningRate of optimizer 'sgd'"},
           {R"({"kind": "cosine"})", "Missing option: decaySteps or decayEpochs, in schedule 'cosine'"},
           {R"({"kind": "cosine", "decaySteps": 4, "decayEpochs": 4})",
            "Both decaySteps and decayEpochs are set: keep one, in schedule 'cosine'"},
           {R"({"kind": "cosine", "decaySteps": 0})", "Too small: decaySteps 0, give at least 1"},
           {R"({"kind": "cosine", "decayEpochs": -1})", "Not positive: decayEpochs -1"},
           {R"({"kind": "cosine", "decaySteps": 4, "alpha": 2})", "Outside 0 <= alpha <= 1: 2"},
           {R"({"kind": "cosine", "decaySteps": 4, "warmupTarget": 1})",
            "Option warmupTarget needs warmupSteps or warmupEpochs"},
           {R"({"kind": "step", "everySteps": 4, "warmupStartRate": 1})",
            "Option warmupStartRate needs warmupSteps or warmupEpochs"},
           {R"({"kind": "cosine", "decaySteps": 4, "warmupTarget": 1, "warmupStartRate": 0, "warmupSteps": 1})",
            "Both warmupTarget and warmupStartRate are set: keep one"},
           {R"({"kind": "step", "everySteps": 4, "warmupTarget": 1})", "Unknown option: warmupTarget"},
           {R"({"kind": "step", "everySteps": 4, "warmupSteps": -1})", "Too small: warmupSteps -1"},
           {R"({"kind": "step", "everySteps": 4, "factor": 0})", "Not positive: factor 0"},
           {R"({"kind": "step", "everySteps": 4, "initialLearningRate": 0})", "Not positive: initialLearningRate 0"},
           {R"({"kind": "exponential", "decaySteps": 4})", "Missing option: decayRate"},
           {R"({"kind": "exponential", "decaySteps": 4, "decayRate": 0})", "Not positive: decayRate 0"},
           {R"({"kind": "polynomial", "decaySteps": 4, "endLearningRate": -1})", "Negative: endLearningRate -1"},
           {R"({"kind": "polynomial", "decaySteps": 4, "power": 0})", "Not positive: power 0"},
           {R"({"kind": "cosine_restarts", "firstDecaySteps": 4, "tMul": 0.5})", "Below 1: tMul 0.5"},
           {R"({"kind": "cosine_restarts", "firstDecaySteps": 4, "mMul": 0})", "Not positive: mMul 0"},
           {R"({"kind": "piecewise", "boundaries": [3, 3], "values": [1, 2, 3]})",
            "Not ascending from 0: boundaries [3,3]"},
           {R"({"kind": "piecewise", "boundaries": [-1], "values": [1, 2]})", "Not ascending from 0: boundaries [-1]"},
           {R"({"kind": "piecewise", "boundaries": [3], "values": [1]})",
            "wanted 2 numbers above 0, one more than boundaries"},
           {R"({"kind": "piecewise", "boundaryEpochs": [3], "values": [1, 0]})", "one more than boundaryEpochs"},
           {R"({"kind": "piecewise", "boundaries": [3], "boundaryEpochs": [3], "values": [1, 1]})",
            "Both boundaries and boundaryEpochs are set: keep one"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "pctStart": 1})", "Outside 0 < pctStart < 1: 1"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "divFactor": 0})", "Not positive: divFactor 0"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "finalDivFactor": 0})", "Not positive: finalDivFactor 0"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "maxLearningRate": 0})", "Not positive: maxLearningRate 0"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "annealStrategy": "cosine"})",
            "Unknown annealStrategy: cosine, known: cos, linear"},
           {R"({"kind": "one_cycle", "totalSteps": 9, "warmupSteps": 3})", "A one_cycle warms up by itself"},
           {R"({"kind": "reduce_on_plateau", "factor": 1})", "Outside 0 < factor < 1: 1"},
           {R"({"kind": "reduce_on_plateau", "patience": 0})", "Too small: patience 0, give at least 1"},
           {R"({"kind": "reduce_on_plateau", "minDelta": -1})", "Negative: minDelta -1"},
           {R"({"kind": "reduce_on_plateau", "cooldown": -1})", "Too small: cooldown -1, give at least 0"},
           {R"({"kind": "reduce_on_plateau", "minLearningRate": -1})", "Negative: minLearningRate -1"},
           {R"({"kind": "reduce_on_plateau", "monitor": "val_loss"})", "Unknown monitor: val_loss"},
           {R"(true)", "Wrong value for learningRate of optimizer 'sgd': true, wanted a number or a schedule"},
       }) {
    try {
      read(text);
      FAIL() << "accepted: " << text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(ReduceOnPlateauTest, fallsWhenTheLossDoesNot) {
  Schedule schedule(read(R"({"kind": "reduce_on_plateau", "initialLearningRate": 1, "factor": 0.5, "patience": 2,
                             "minDelta": 0.1, "cooldown": 2, "minLearningRate": 0.2, "monitor": "loss"})"));
  struct Epoch {
    double loss, rateAfter;
  };
  int number = 0;
  for (const Epoch& epoch :
       {Epoch{5, 1}, Epoch{4, 1}, Epoch{3.95, 1}, Epoch{3.95, 0.5},  // two epochs too little better
        Epoch{4, 0.5},                                               // cools down
        Epoch{4, 0.5}, Epoch{4, 0.25},                               // counts again
        Epoch{1, 0.25}, Epoch{1, 0.25},                              // better, and cooled down
        Epoch{1, 0.2}, Epoch{1, 0.2}, Epoch{1, 0.2}, Epoch{1, 0.2}, Epoch{1, 0.2}}) {
    schedule.epochEnded({epoch.loss, std::nullopt});
    EXPECT_EQ(schedule.at(77, 10), epoch.rateAfter) << "epoch " << ++number;
  }
}

TEST(ReduceOnPlateauTest, defaultsAreKeras) {
  EXPECT_EQ(toJson(read(R"({"kind": "reduce_on_plateau"})")).dump(),
            R"({"kind":"reduce_on_plateau","initialLearningRate":0.5,"factor":0.1,"patience":10,"minDelta":0.0001,)"
            R"("cooldown":0,"minLearningRate":0.0,"monitor":"validation_loss"})");
}

TEST(ReduceOnPlateauTest, watchesTheValidationLoss) {
  ScheduleSpec spec = read(R"({"kind": "reduce_on_plateau", "patience": 1})");
  EXPECT_TRUE(watchesValidation(spec));
  EXPECT_FALSE(watchesValidation(read(R"({"kind": "reduce_on_plateau", "monitor": "loss"})")));
  EXPECT_FALSE(watchesValidation(0.1));
  Schedule schedule(spec);
  schedule.epochEnded({9, 1.0});
  schedule.epochEnded({1, 1.0});
  EXPECT_NEAR(schedule.at(0, 1), 0.05, 1e-12);
}

TEST(ReduceOnPlateauTest, goesOnFromItsState) {
  std::string text = R"({"kind": "reduce_on_plateau", "patience": 2, "monitor": "loss"})";
  Schedule first(read(text)), second(read(text));
  for (double loss : {3.0, 3.0}) first.epochEnded({loss, {}});
  second.restore(first.state());
  for (Schedule* schedule : {&first, &second}) {
    schedule->epochEnded({3.0, {}});
    EXPECT_NEAR(schedule->at(0, 1), 0.05, 1e-12);
  }
}

}  // namespace

}  // namespace bloomery::optim
