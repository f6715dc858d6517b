// How the learning rate changes, as the JSON says it: a number, or an object with a kind. Names of options are Keras's
// where Keras has the schedule; see docs/training-json.md. Schedule.h says which rate that means for a step.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/Json.h"

namespace bloomery::optim {

// A number of steps, or of epochs: `decaySteps` or `decayEpochs`. A step is one update of the parameters.
struct Duration {
  double count = 0;
  bool inEpochs = false;

  double steps(int64_t stepsPerEpoch) const { return inEpochs ? count * static_cast<double>(stepsPerEpoch) : count; }
};

struct Constant {
  static constexpr const char* kKind = "constant";
  double initialLearningRate = 0.001;
};

// Multiplied by `factor` after each `every`.
struct StepDecay {
  static constexpr const char* kKind = "step";
  double initialLearningRate = 0;
  double factor = 0.1;
  Duration every;
};

struct ExponentialDecay {
  static constexpr const char* kKind = "exponential";
  double initialLearningRate = 0;
  double decayRate = 0;
  Duration decay;
  bool staircase = false;
};

struct PolynomialDecay {
  static constexpr const char* kKind = "polynomial";
  double initialLearningRate = 0;
  Duration decay;
  double endLearningRate = 0.0001;
  double power = 1.0;
  bool cycle = false;
};

struct CosineDecay {
  static constexpr const char* kKind = "cosine";
  double initialLearningRate = 0;
  Duration decay;
  double alpha = 0;  // the share of the initial rate that remains
};

// Cosines one after the other, each `tMul` times as long and `mMul` times as high as the one before.
struct CosineRestarts {
  static constexpr const char* kKind = "cosine_restarts";
  double initialLearningRate = 0;
  Duration firstDecay;
  double tMul = 2.0;
  double mMul = 1.0;
  double alpha = 0;
};

// values[i] up to and including boundaries[i]: a step counted from 0 as in Keras, or an epoch counted from 1.
struct Piecewise {
  static constexpr const char* kKind = "piecewise";
  std::vector<int64_t> boundaries;
  bool inEpochs = false;
  std::vector<double> values;
};

// PyTorch's OneCycleLR: up to the maximum, then down far below the start.
struct OneCycle {
  static constexpr const char* kKind = "one_cycle";
  double maxLearningRate = 0;
  Duration total;
  double pctStart = 0.3;  // share of the steps that go up
  double divFactor = 25;
  double finalDivFactor = 1e4;
  bool linear = false;  // instead of a cosine
};

// Keras's callback ReduceLROnPlateau: multiplied by `factor` when the loss has not fallen for `patience` epochs.
struct ReduceOnPlateau {
  static constexpr const char* kKind = "reduce_on_plateau";
  double initialLearningRate = 0;
  double factor = 0.1;
  int64_t patience = 10;
  double minDelta = 1e-4;
  int64_t cooldown = 0;
  double minLearningRate = 0;
  bool onValidation = true;  // monitor: "validation_loss" or "loss"
};

using Decay = std::variant<Constant, StepDecay, ExponentialDecay, PolynomialDecay, CosineDecay, CosineRestarts,
                           Piecewise, OneCycle, ReduceOnPlateau>;

template <typename Kind>
concept HasInitialRate = requires(Kind spec) { spec.initialLearningRate; };

struct ScheduleSpec {
  ScheduleSpec(double learningRate) : decay(Constant{learningRate}) {}
  ScheduleSpec(Decay shape) : decay(std::move(shape)) {}
  template <typename Kind>
    requires std::is_constructible_v<Decay, Kind> && requires { Kind::kKind; }
  ScheduleSpec(Kind kind) : decay(std::move(kind)) {}

  Decay decay;
  Duration warmup;             // a straight line up to the first rate of `decay`, whose steps count from its end
  double warmupStartRate = 0;  // where that line starts
};

// From 0.001 or {"kind": "cosine", "initialLearningRate": 0.1, "decayEpochs": 30}; `where` names the place in errors.
// An object without a rate of its own gets `byDefault`.
ScheduleSpec readSchedule(const Json& json, double byDefault, const std::string& where);
Json toJson(const ScheduleSpec& spec);

}  // namespace bloomery::optim
