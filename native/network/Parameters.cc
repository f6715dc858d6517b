#include "network/Parameters.h"

#include <cmath>
#include <map>
#include <numbers>

#include "base/Error.h"
#include "base/Names.h"
#include "base/Random.h"

namespace bloomery::network {

namespace {

const std::map<std::string, Initializer>& initializers() {
  static const std::map<std::string, Initializer> kAll = {
      {"zeros", Initializer::kZeros},
      {"ones", Initializer::kOnes},
      {"glorot_uniform", Initializer::kGlorotUniform},
      {"glorot_normal", Initializer::kGlorotNormal},
      {"he_uniform", Initializer::kHeUniform},
      {"he_normal", Initializer::kHeNormal},
  };
  return kAll;
}

void fillUniform(std::span<float> values, uint64_t key, double limit) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = philox(key, i / 4, 0)[i % 4];
    values[i] = static_cast<float>((2.0 * uniformFloat(bits) - 1.0) * limit);
  }
}

// Normal values cut off at two standard deviations; the deviation before the cut makes up for what it takes away.
void fillTruncatedNormal(std::span<float> values, uint64_t key, double deviation) {
  constexpr double kDeviationAfterCut = 0.87962566103423978;
  for (size_t i = 0; i < values.size(); ++i) {
    double value = 3.0;
    for (uint64_t attempt = 0; std::abs(value) > 2.0; ++attempt) {
      RandomBlock bits = philox(key, i, attempt);
      double radius = std::sqrt(-2.0 * std::log(1.0 - uniformFloat(bits[0])));
      value = radius * std::cos(2.0 * std::numbers::pi * uniformFloat(bits[1]));
    }
    values[i] = static_cast<float>(value * deviation / kDeviationAfterCut);
  }
}

}  // namespace

Initializer initializerOf(const std::string& name) {
  auto found = initializers().find(name);
  if (found != initializers().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : initializers()) names.push_back(entry.first);
  throw UserError(unknownName("initializer", name, names));
}

void initialize(const Parameter& parameter, uint64_t seed, std::span<float> values) {
  uint64_t key = mixKey(mixKey(seed, "initializer"), parameter.name);
  double fanIn = static_cast<double>(parameter.fanIn), fanOut = static_cast<double>(parameter.fanOut);
  switch (parameter.initializer) {
    case Initializer::kZeros:
      std::fill(values.begin(), values.end(), 0.0f);
      return;
    case Initializer::kOnes:
      std::fill(values.begin(), values.end(), 1.0f);
      return;
    case Initializer::kGlorotUniform:
      return fillUniform(values, key, std::sqrt(6.0 / (fanIn + fanOut)));
    case Initializer::kHeUniform:
      return fillUniform(values, key, std::sqrt(6.0 / fanIn));
    case Initializer::kGlorotNormal:
      return fillTruncatedNormal(values, key, std::sqrt(2.0 / (fanIn + fanOut)));
    case Initializer::kHeNormal:
      return fillTruncatedNormal(values, key, std::sqrt(2.0 / fanIn));
  }
}

int64_t ParameterTable::numValues() const {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.shape.numElements();
  return sum;
}

ArenaLayout ParameterTable::layout() const {
  ArenaLayout layout;
  for (const Parameter& parameter : parameters_) layout.add(parameter.name, parameter.shape);
  return layout;
}

void ParameterTable::initialize(uint64_t seed, const Arena& values) const {
  ArenaLayout layout = this->layout();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    network::initialize(parameters_[i], seed, values.view(layout.slices()[i]).span());
  }
}

}  // namespace bloomery::network
