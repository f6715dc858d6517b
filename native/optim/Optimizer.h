// Optimizers are loops over a range of the parameter arena, with state arenas of the same layout. They give the same
// bits on every dispatch level. One optimizer belongs to one trainer and is called on its compute thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "base/Json.h"
#include "base/Simd.h"

namespace bloomery::optim {

// The updates are Keras's: SGD scales the gradient by the learning rate before it enters the velocity, and Adam adds
// epsilon to the root of the uncorrected variance. Momenta and decays lie in [0, 1), the rest above 0.
struct Sgd {
  static constexpr const char* kKind = "sgd";
  double learningRate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
};

struct Adam {
  static constexpr const char* kKind = "adam";
  double learningRate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
};

struct Adadelta {
  static constexpr const char* kKind = "adadelta";
  double learningRate = 1.0;
  double rho = 0.95;
  double epsilon = 1e-7;
};

using OptimizerSpec = std::variant<Sgd, Adam, Adadelta>;

// From "adam" or {"kind": "adam", "learningRate": 0.01}; unknown kinds, options and values out of range are UserErrors.
OptimizerSpec readOptimizer(const Json& json);
Json toJson(const OptimizerSpec& spec);
double learningRateOf(const OptimizerSpec& spec);

// State arenas of the parameters' size that an optimizer keeps: sgd 0 or 1, adam 2, adadelta 2.
size_t numStateArenas(const OptimizerSpec& spec);

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Once per step, before the step's first update.
  virtual void beginStep(double learningRate) = 0;
  // Updates parameters[first, first + gradients.size()) of the arena; ranges of one step do not overlap.
  virtual void update(size_t first, std::span<float> parameters, std::span<const float> gradients) = 0;
};

// numFloats: size of the whole parameter arena.
std::unique_ptr<Optimizer> makeOptimizer(const OptimizerSpec& spec, size_t numFloats, SimdLevel level = simdLevel());

}  // namespace bloomery::optim
