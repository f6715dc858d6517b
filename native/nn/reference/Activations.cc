// The functions by their definitions, and the slope of each.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using network::Activation;
using network::Function;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normalBelow(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

double valueOf(const Activation& layer, double x) {
  switch (layer.function) {
    case Function::kRelu:
      return std::max(x, 0.0);
    case Function::kLeakyRelu:
      return x > 0 ? x : layer.slope * x;
    case Function::kElu:
      return x > 0 ? x : layer.slope * std::expm1(x);
    case Function::kGelu:
      return x * normalBelow(x);
    case Function::kSilu:
      return x * sigmoid(x);
    case Function::kSigmoid:
      return sigmoid(x);
    case Function::kTanh:
      return std::tanh(x);
    case Function::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Function::kLinear:
    case Function::kSoftmax:
      return x;
  }
  return x;
}

double slopeOf(const Activation& layer, double x) {
  switch (layer.function) {
    case Function::kRelu:
      return x > 0 ? 1 : 0;
    case Function::kLeakyRelu:
      return x > 0 ? 1 : layer.slope;
    case Function::kElu:
      return x > 0 ? 1 : layer.slope * std::exp(x);
    case Function::kGelu:
      return normalBelow(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Function::kSilu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case Function::kSigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case Function::kTanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case Function::kSoftplus:
      return sigmoid(x);
    case Function::kLinear:
    case Function::kSoftmax:
      return 1;
  }
  return 1;
}

}  // namespace

void forward(const Activation& layer, const Site& site) {
  int64_t size = site.batch * site.node.output.numElements(), last = site.node.output.extents().back();
  for (int64_t i = 0; i < size; ++i) site.output[i] = static_cast<float>(valueOf(layer, site.input[i]));
  if (layer.function != Function::kSoftmax) return;
  for (int64_t first = 0; first < size; first += last) {
    float* row = site.output + first;
    double largest = *std::max_element(row, row + last), sum = 0;
    for (int64_t i = 0; i < last; ++i) sum += std::exp(row[i] - largest);
    for (int64_t i = 0; i < last; ++i) row[i] = static_cast<float>(std::exp(row[i] - largest) / sum);
  }
}

void backward(const Activation& layer, const Site& site) {
  int64_t size = site.batch * site.node.output.numElements(), last = site.node.output.extents().back();
  for (int64_t i = 0; i < size; ++i) {
    site.inputGradient[i] = static_cast<float>(slopeOf(layer, site.input[i]) * site.outputGradient[i]);
  }
  if (layer.function != Function::kSoftmax) return;
  for (int64_t first = 0; first < size; first += last) {
    double inner = 0;
    for (int64_t i = first; i < first + last; ++i) inner += double{site.output[i]} * site.outputGradient[i];
    for (int64_t i = first; i < first + last; ++i) {
      site.inputGradient[i] = static_cast<float>(site.output[i] * (site.outputGradient[i] - inner));
    }
  }
}

}  // namespace bloomery::nn::reference
