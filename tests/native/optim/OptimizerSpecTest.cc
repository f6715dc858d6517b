#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

namespace {

TEST(OptimizerSpecTest, nameAloneMeansTheDefaults) {
  for (const auto& [name, written] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sgd", R"({"kind":"sgd","learningRate":0.01,"momentum":0.0,"nesterov":false,"weightDecay":0.0})"},
           {"adam",
            R"({"kind":"adam","learningRate":0.001,"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"weightDecay":0.0})"},
           {"adamw",
            R"({"kind":"adamw","learningRate":0.001,"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"weightDecay":0.004})"},
           {"adadelta", R"({"kind":"adadelta","learningRate":1.0,"rho":0.95,"epsilon":1e-07,"weightDecay":0.0})"},
           {"adagrad", R"({"kind":"adagrad","learningRate":0.001,"initialAccumulatorValue":0.1,"epsilon":1e-07,)"
                       R"("weightDecay":0.0})"},
           {"rmsprop", R"({"kind":"rmsprop","learningRate":0.001,"rho":0.9,"momentum":0.0,"epsilon":1e-07,)"
                       R"("centered":false,"weightDecay":0.0})"},
           {"lamb",
            R"({"kind":"lamb","learningRate":0.001,"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"weightDecay":0.0})"},
       }) {
    EXPECT_EQ(toJson(readOptimizer(name)).dump(), written);
  }
}

TEST(OptimizerSpecTest, optionsAreReadAndWritten) {
  for (const char* text :
       {R"({"kind":"sgd","learningRate":0.5,"momentum":0.9,"nesterov":true,"weightDecay":0.5})",
        R"({"kind":"adam","learningRate":0.5,"beta1":0.0,"beta2":0.5,"epsilon":0.25,"weightDecay":0.5})",
        R"({"kind":"adamw","learningRate":0.5,"beta1":0.0,"beta2":0.5,"epsilon":0.25,"weightDecay":0.0})",
        R"({"kind":"adadelta","learningRate":0.5,"rho":0.25,"epsilon":0.125,"weightDecay":0.5})",
        R"({"kind":"adagrad","learningRate":0.5,"initialAccumulatorValue":0.0,"epsilon":0.125,"weightDecay":0.5})",
        R"({"kind":"rmsprop","learningRate":0.5,"rho":0.25,"momentum":0.5,"epsilon":0.125,"centered":true,)"
        R"("weightDecay":0.5})",
        R"({"kind":"lamb","learningRate":0.5,"beta1":0.0,"beta2":0.5,"epsilon":0.25,"weightDecay":0.5})"}) {
    OptimizerSpec spec = readOptimizer(parseJson(text, "optimizer"));
    EXPECT_EQ(toJson(spec).dump(), text);
    EXPECT_EQ(toJson(scheduleOf(spec)), 0.5);
  }
}

TEST(OptimizerSpecTest, learningRateMayBeASchedule) {
  const char* text =
      R"({"kind":"sgd","learningRate":{"kind":"step","initialLearningRate":0.01,"factor":0.1,"everyEpochs":2.0},)"
      R"("momentum":0.0,"nesterov":false,"weightDecay":0.0})";
  EXPECT_EQ(toJson(readOptimizer(parseJson(text, "optimizer"))).dump(), text);
  // A schedule that says no rate has the optimizer's.
  EXPECT_EQ(toJson(readOptimizer({{"kind", "sgd"}, {"learningRate", {{"kind", "step"}, {"everyEpochs", 2}}}})).dump(),
            text);
}

TEST(OptimizerSpecTest, stateArenasAreCounted) {
  EXPECT_EQ(numStateArenas(Sgd{}), 0u);
  EXPECT_EQ(numStateArenas(Sgd{.momentum = 0.9}), 1u);
  EXPECT_EQ(numStateArenas(Adam{}), 2u);
  EXPECT_EQ(numStateArenas(AdamW{}), 2u);
  EXPECT_EQ(numStateArenas(Adadelta{}), 2u);
  EXPECT_EQ(numStateArenas(Adagrad{}), 1u);
  EXPECT_EQ(numStateArenas(RmsProp{}), 1u);
  EXPECT_EQ(numStateArenas(RmsProp{.momentum = 0.1, .centered = true}), 3u);
  EXPECT_EQ(numStateArenas(Lamb{}), 2u);
}

TEST(OptimizerSpecTest, wrongOptionsAreRefusedWithTheReason) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& wrong : {
           Case{R"("adamm")", "Unknown optimizer: adamm, nearest known: adam"},
           Case{R"({"learningRate": 1})", "Missing option: kind, in optimizer"},
           Case{R"(7)", "Not a JSON object: optimizer, found number"},
           Case{R"({"kind": "adam", "momentum": 0.9})", "Unknown option: momentum"},
           Case{R"({"kind": "adam", "learningrate": 0.9})", "nearest known: learningRate, in optimizer 'adam'"},
           Case{R"({"kind": "adam", "learningRate": 0})", "Not positive: learningRate 0, in optimizer 'adam'"},
           Case{R"({"kind": "sgd", "learningRate": -1})", "Not positive: learningRate -1"},
           Case{R"({"kind": "sgd", "learningRate": "fast"})",
                "Wrong value for learningRate of optimizer 'sgd': \"fast\""},
           Case{R"({"kind": "sgd", "momentum": 1})", "Outside 0 <= momentum < 1: 1, in optimizer 'sgd'"},
           Case{R"({"kind": "sgd", "nesterov": true})", "Option nesterov needs a momentum above 0"},
           Case{R"({"kind": "sgd", "weightDecay": -0.1})", "Negative: weightDecay -0.1, in optimizer 'sgd'"},
           Case{R"({"kind": "adam", "beta1": -0.1})", "Outside 0 <= beta1 < 1: -0.1"},
           Case{R"({"kind": "adam", "beta2": 1.5})", "Outside 0 <= beta2 < 1: 1.5"},
           Case{R"({"kind": "adam", "epsilon": 0})", "Not positive: epsilon 0"},
           Case{R"({"kind": "adamw", "weightDecay": -1})", "Negative: weightDecay -1"},
           Case{R"({"kind": "adadelta", "rho": 1})", "Outside 0 <= rho < 1: 1"},
           Case{R"({"kind": "adagrad", "initialAccumulatorValue": -1})", "Negative: initialAccumulatorValue -1"},
           Case{R"({"kind": "adagrad", "epsilon": 0})", "Not positive: epsilon 0, in optimizer 'adagrad'"},
           Case{R"({"kind": "rmsprop", "rho": 1})", "Outside 0 <= rho < 1: 1"},
           Case{R"({"kind": "rmsprop", "momentum": 1})", "Outside 0 <= momentum < 1: 1"},
           Case{R"({"kind": "rmsprop", "centered": 1})", "Wrong value for centered"},
           Case{R"({"kind": "lamb", "beta1": 1})", "Outside 0 <= beta1 < 1: 1"},
           Case{R"({"kind": "lamb", "beta2": -1})", "Outside 0 <= beta2 < 1: -1"},
           Case{R"({"kind": "lamb", "epsilon": -1})", "Not positive: epsilon -1"},
       }) {
    try {
      readOptimizer(parseJson(wrong.text, "optimizer"));
      FAIL() << "accepted: " << wrong.text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.message), std::string::npos) << error.what();
    }
  }
}

}  // namespace

}  // namespace bloomery::optim
