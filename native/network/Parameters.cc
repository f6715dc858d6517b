#include "network/Parameters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

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
      {"lecun_uniform", Initializer::kLecunUniform},
      {"lecun_normal", Initializer::kLecunNormal},
      {"random_uniform", Initializer::kRandomUniform},
      {"random_normal", Initializer::kRandomNormal},
      {"orthogonal", Initializer::kOrthogonal},
  };
  return kAll;
}

void fillUniform(std::span<float> values, uint64_t key, double limit) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = philox(key, i / 4, 0)[i % 4];
    values[i] = static_cast<float>((2.0 * uniformFloat(bits) - 1.0) * limit);
  }
}

double normalValue(uint64_t key, uint64_t i, uint64_t attempt) {
  RandomBlock bits = philox(key, i, attempt);
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniformFloat(bits[0])));
  return radius * std::cos(2.0 * std::numbers::pi * uniformFloat(bits[1]));
}

void fillNormal(std::span<float> values, uint64_t key, double deviation) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(normalValue(key, i, 0) * deviation);
}

// Normal values cut off at two standard deviations; the deviation before the cut makes up for what it takes away.
void fillTruncatedNormal(std::span<float> values, uint64_t key, double deviation) {
  constexpr double kDeviationAfterCut = 0.87962566103423978;
  for (size_t i = 0; i < values.size(); ++i) {
    double value = 3.0;
    for (uint64_t attempt = 0; std::abs(value) > 2.0; ++attempt) value = normalValue(key, i, attempt);
    values[i] = static_cast<float>(value * deviation / kDeviationAfterCut);
  }
}

// Rows (or columns, where these are fewer) that are orthogonal and of length one: normal values, made so one by one.
void fillOrthogonal(std::span<float> values, uint64_t key, size_t columns) {
  size_t rows = values.size() / columns, count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<std::vector<double>> vectors(count, std::vector<double>(length));
  for (size_t i = 0; i < count; ++i) {
    std::vector<double>& own = vectors[i];
    for (size_t k = 0; k < length; ++k) own[k] = normalValue(key, i * length + k, 0);
    for (int pass = 0; pass < 2; ++pass) {  // twice is enough against rounding
      for (size_t j = 0; j < i; ++j) {
        double inner = std::inner_product(own.begin(), own.end(), vectors[j].begin(), 0.0);
        for (size_t k = 0; k < length; ++k) own[k] -= inner * vectors[j][k];
      }
    }
    double norm = std::sqrt(std::inner_product(own.begin(), own.end(), own.begin(), 0.0));
    for (double& value : own) value /= norm;
  }
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      double value = rows <= columns ? vectors[row][column] : vectors[column][row];
      values[row * columns + column] = static_cast<float>(value);
    }
  }
}

void fillForgetGate(std::span<float> values) {
  size_t quarter = values.size() / 4;
  std::fill(values.begin(), values.end(), 0.0f);
  std::fill_n(values.begin() + static_cast<ptrdiff_t>(quarter), quarter, 1.0f);
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
  if (!parameter.values.empty()) {
    std::copy(parameter.values.begin(), parameter.values.end(), values.begin());
    return;
  }
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
    case Initializer::kLecunUniform:
      return fillUniform(values, key, std::sqrt(3.0 / fanIn));
    case Initializer::kLecunNormal:
      return fillTruncatedNormal(values, key, std::sqrt(1.0 / fanIn));
    case Initializer::kRandomUniform:
      return fillUniform(values, key, 0.05);
    case Initializer::kRandomNormal:
      return fillNormal(values, key, 0.05);
    case Initializer::kOrthogonal:
      return fillOrthogonal(values, key, static_cast<size_t>(parameter.shape.extents().back()));
    case Initializer::kOnesForForgetGate:
      return fillForgetGate(values);
  }
}

int64_t ParameterTable::numValues() const {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.shape.numElements();
  return sum;
}

int64_t ParameterTable::numTrainableValues() const {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.trainable ? parameter.shape.numElements() : 0;
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
