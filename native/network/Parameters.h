// What a layer learns: names, canonical shapes and initial values, in the fixed order in which they lie in the arenas.
// Dense kernels are [in, out], convolution kernels [height, width, in, out], as in Keras.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/Arena.h"

namespace bloomery::network {

enum class Initializer { kZeros, kOnes, kGlorotUniform, kGlorotNormal, kHeUniform, kHeNormal };

Initializer initializerOf(const std::string& name);  // UserError with the nearest name

struct Parameter {
  std::string name;  // "conv2d/kernel"
  Shape shape;
  Initializer initializer;
  int64_t fanIn = 1;
  int64_t fanOut = 1;
};

// Fills one parameter; the values depend on (seed, name) only.
void initialize(const Parameter& parameter, uint64_t seed, std::span<float> values);

// A layer adds its parameters here while it is declared.
class ParameterTable {
 public:
  void add(Parameter parameter) { parameters_.push_back(std::move(parameter)); }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  int64_t numValues() const;
  ArenaLayout layout() const;
  void initialize(uint64_t seed, const Arena& values) const;  // laid out by layout()

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace bloomery::network
