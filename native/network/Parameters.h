// What a layer learns: names, canonical shapes and initial values, in the fixed order in which they lie in the arenas.
// Dense kernels are [in, out], convolution kernels [height, width, in, out], as in Keras.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/Arena.h"

namespace bloomery::network {

enum class Initializer {
  kZeros,
  kOnes,
  kGlorotUniform,
  kGlorotNormal,
  kHeUniform,
  kHeNormal,
  kLecunUniform,
  kLecunNormal,
  kRandomUniform,  // -0.05 to 0.05
  kRandomNormal,   // deviation 0.05
  kOrthogonal,
  kOnesForForgetGate  // of an LSTM's bias: the second quarter; not a name users write
};

Initializer initializerOf(const std::string& name);  // UserError with the nearest name

// Added to the loss: l1 * sum of |w| + l2 * sum of w^2, as Keras counts it.
struct Regularizer {
  float l1 = 0;
  float l2 = 0;
};

struct Parameter {
  std::string name;  // "conv2d/kernel"
  Shape shape;
  Initializer initializer = Initializer::kZeros;
  int64_t fanIn = 1;
  int64_t fanOut = 1;
  Regularizer regularizer = {};
  bool trainable = true;
  // Of a running statistic: in place of a gradient the plan gives the batch's statistic, and
  // the parameter follows it: momentum * old + (1 - momentum) * new.
  std::optional<double> runningMomentum = {};
  std::vector<float> values = {};  // to start with, instead of the initializer's
  // A table whose rows are taken by index: most rows of its gradient are zero.
  bool gathered = false;
};

// Fills one parameter; the values depend on (seed, name) only.
void initialize(const Parameter& parameter, uint64_t seed, std::span<float> values);

// A layer adds its parameters here while it is declared.
class ParameterTable {
 public:
  void add(Parameter parameter) { parameters_.push_back(std::move(parameter)); }
  // Neither trained nor followed.
  void freeze(size_t index) {
    parameters_[index].trainable = false;
    parameters_[index].runningMomentum.reset();
  }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  int64_t numValues() const;
  int64_t numTrainableValues() const;
  ArenaLayout layout() const;
  void initialize(uint64_t seed, const Arena& values) const;  // laid out by layout()

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace bloomery::network
