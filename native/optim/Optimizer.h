// Optimizers are loops over a range of the parameter arena, with state arenas of the same layout. They give the same
// bits on every dispatch level. One optimizer belongs to one trainer and is called on its compute thread; what comes
// before and after it (schedule, clipping, regularisers) is the Updater's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/Simd.h"
#include "optim/ScheduleSpec.h"
#include "tensor/Arena.h"

namespace bloomery::optim {

// The updates are Keras's: SGD scales the gradient by the learning rate before it enters the velocity, and Adam adds
// epsilon to the root of the uncorrected variance. Momenta and decays lie in [0, 1), the rest above 0. Weight decay is
// decoupled: before the update each parameter loses the share learningRate * weightDecay of itself.
struct Sgd {
  static constexpr const char* kKind = "sgd";
  ScheduleSpec learningRate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weightDecay = 0;
};

struct Adam {
  static constexpr const char* kKind = "adam";
  ScheduleSpec learningRate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double weightDecay = 0;
};

// Adam with a weight decay from the start.
struct AdamW {
  static constexpr const char* kKind = "adamw";
  ScheduleSpec learningRate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double weightDecay = 0.004;
};

struct Adadelta {
  static constexpr const char* kKind = "adadelta";
  ScheduleSpec learningRate = 1.0;
  double rho = 0.95;
  double epsilon = 1e-7;
  double weightDecay = 0;
};

struct Adagrad {
  static constexpr const char* kKind = "adagrad";
  ScheduleSpec learningRate = 0.001;
  double initialAccumulatorValue = 0.1;
  double epsilon = 1e-7;
  double weightDecay = 0;
};

struct RmsProp {
  static constexpr const char* kKind = "rmsprop";
  ScheduleSpec learningRate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  double weightDecay = 0;
};

// Adam's direction (epsilon beside the corrected root), as long in each parameter as the parameter itself.
struct Lamb {
  static constexpr const char* kKind = "lamb";
  ScheduleSpec learningRate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double weightDecay = 0;
};

using OptimizerSpec = std::variant<Sgd, Adam, AdamW, Adadelta, Adagrad, RmsProp, Lamb>;

// From "adam" or {"kind": "adam", "learningRate": 0.01}; unknown kinds, options and values out of range are UserErrors.
OptimizerSpec readOptimizer(const Json& json);
Json toJson(const OptimizerSpec& spec);
const ScheduleSpec& scheduleOf(const OptimizerSpec& spec);

// State arenas of the parameters' size that an optimizer keeps: none (plain sgd) to three (centered rmsprop with
// momentum).
size_t numStateArenas(const OptimizerSpec& spec);

// Part of a training's state that is as long as the parameters.
struct StateArena {
  std::string name;
  std::span<float> values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Once per step, before the step's first update. step: updates before this one.
  virtual void beginStep(double learningRate, int64_t step) = 0;
  // Updates parameters[first, first + gradients.size()) of the arena, whole slices or, of one that rests without a
  // gradient, any part; ranges of one step do not overlap. `decays` false leaves weight decay out.
  virtual void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) = 0;
  // Where a gradient is zero, the parameter and all that is remembered of it stay as they are: such places may be left
  // out. Not so with momenta, running means and weight decay, which go on without a gradient, as in Keras and PyTorch
  // with dense gradients.
  virtual bool restsWithoutGradient() const { return false; }
  // All it remembers, to be saved and written back.
  virtual std::vector<StateArena> state() = 0;
};

// layout: of the whole parameter arena; copied.
std::unique_ptr<Optimizer> makeOptimizer(const OptimizerSpec& spec, const ArenaLayout& layout,
                                         SimdLevel level = simdLevel());

}  // namespace bloomery::optim
