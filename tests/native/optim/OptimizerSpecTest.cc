#include <gtest/gtest.h>

#include "base/Error.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

namespace {

TEST(OptimizerSpecTest, nameAloneMeansTheDefaults) {
  EXPECT_EQ(toJson(readOptimizer("sgd")).dump(),
            R"({"kind":"sgd","learningRate":0.01,"momentum":0.0,"nesterov":false})");
  EXPECT_EQ(toJson(readOptimizer("adam")).dump(),
            R"({"kind":"adam","learningRate":0.001,"beta1":0.9,"beta2":0.999,"epsilon":1e-07})");
  EXPECT_EQ(toJson(readOptimizer("adadelta")).dump(),
            R"({"kind":"adadelta","learningRate":1.0,"rho":0.95,"epsilon":1e-07})");
}

TEST(OptimizerSpecTest, optionsAreReadAndWritten) {
  for (const char* text : {R"({"kind":"sgd","learningRate":0.5,"momentum":0.9,"nesterov":true})",
                           R"({"kind":"adam","learningRate":0.5,"beta1":0.0,"beta2":0.5,"epsilon":0.25})",
                           R"({"kind":"adadelta","learningRate":0.5,"rho":0.25,"epsilon":0.125})"}) {
    OptimizerSpec spec = readOptimizer(parseJson(text, "optimizer"));
    EXPECT_EQ(toJson(spec).dump(), text);
    EXPECT_EQ(learningRateOf(spec), 0.5);
  }
}

TEST(OptimizerSpecTest, stateArenasAreCounted) {
  EXPECT_EQ(numStateArenas(Sgd{}), 0u);
  EXPECT_EQ(numStateArenas(Sgd{.momentum = 0.9}), 1u);
  EXPECT_EQ(numStateArenas(Adam{}), 2u);
  EXPECT_EQ(numStateArenas(Adadelta{}), 2u);
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
           Case{R"({"kind": "adam", "beta1": -0.1})", "Outside 0 <= beta1 < 1: -0.1"},
           Case{R"({"kind": "adam", "beta2": 1.5})", "Outside 0 <= beta2 < 1: 1.5"},
           Case{R"({"kind": "adam", "epsilon": 0})", "Not positive: epsilon 0"},
           Case{R"({"kind": "adadelta", "rho": 1})", "Outside 0 <= rho < 1: 1"},
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
