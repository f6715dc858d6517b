// Layers that work on each row, or each element, by itself.
#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/kernels/Dropout.h"
#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using network::Function;

void copy(const float* from, const Site& site, float* to) {
  std::copy_n(from, site.batch * site.node.input.numElements(), to);
}

// Forward and backward are the same: scaled where kept, zero where dropped. Rows without an id have no random part.
void drop(const network::Dropout& layer, const Site& site, const float* from, float* to) {
  copy(from, site, to);
  DropoutRule rule(layer.rate, site.seed, site.node.name);
  uint64_t key = rule.keyFor(site.epoch);
  int64_t size = site.node.input.numElements();
  for (size_t row = 0; row < site.rowIds.size(); ++row) {
    float* values = to + static_cast<int64_t>(row) * size;
    for (int64_t i = 0; i < size; ++i) {
      values[i] = dropoutKeeps(rule, key, site.rowIds[row], i) ? values[i] * rule.scale : 0.0f;
    }
  }
}

}  // namespace

void forward(const network::Input&, const Site&) {}
void backward(const network::Input&, const Site&) {}

void forward(const network::Flatten&, const Site& site) { copy(site.input, site, site.output); }
void backward(const network::Flatten&, const Site& site) { copy(site.outputGradient, site, site.inputGradient); }

void forward(const network::Dropout& layer, const Site& site) { drop(layer, site, site.input, site.output); }
void backward(const network::Dropout& layer, const Site& site) {
  drop(layer, site, site.outputGradient, site.inputGradient);
}

void forward(const network::Reshape&, const Site& site) { copy(site.input, site, site.output); }
void backward(const network::Reshape&, const Site& site) { copy(site.outputGradient, site, site.inputGradient); }

void forward(const network::Rescaling& layer, const Site& site) {
  for (int64_t i = 0; i < site.batch * site.node.output.numElements(); ++i) {
    site.output[i] = static_cast<float>(layer.scale * site.input[i] + layer.offset);
  }
}
void backward(const network::Rescaling& layer, const Site& site) {
  for (int64_t i = 0; i < site.batch * site.node.output.numElements(); ++i) {
    site.inputGradient[i] = static_cast<float>(layer.scale * site.outputGradient[i]);
  }
}

void forward(const network::Dense& layer, const Site& site) {
  int64_t inputs = site.node.input.extents().back(), units = layer.units;
  int64_t numRows = site.batch * site.node.input.numElements() / inputs;
  const float* kernel = site.parameters[0].data;  // [inputs, units]
  for (int64_t row = 0; row < numRows; ++row) {
    for (int64_t unit = 0; unit < units; ++unit) {
      double sum = layer.weights.useBias ? site.parameters[1].data[unit] : 0.0f;
      for (int64_t i = 0; i < inputs; ++i) sum += double{site.input[row * inputs + i]} * kernel[i * units + unit];
      if (layer.activation == Function::kRelu) sum = std::max(sum, 0.0);
      site.output[row * units + unit] = static_cast<float>(sum);
    }
  }
}

void backward(const network::Dense& layer, const Site& site) {
  int64_t inputs = site.node.input.extents().back(), units = layer.units;
  int64_t numRows = site.batch * site.node.input.numElements() / inputs;
  const float* kernel = site.parameters[0].data;
  std::vector<double> gradient(site.outputGradient, site.outputGradient + numRows * units);  // [rows, units]
  if (layer.activation == Function::kRelu) {
    for (int64_t i = 0; i < numRows * units; ++i) gradient[static_cast<size_t>(i)] *= site.output[i] > 0 ? 1 : 0;
  }
  for (int64_t i = 0; i < inputs; ++i) {
    for (int64_t unit = 0; unit < units; ++unit) {
      double sum = 0;
      for (int64_t row = 0; row < numRows; ++row) {
        sum += gradient[static_cast<size_t>(row * units + unit)] * site.input[row * inputs + i];
      }
      site.gradients[0].data[i * units + unit] = static_cast<float>(sum);
    }
  }
  for (int64_t unit = 0; layer.weights.useBias && unit < units; ++unit) {
    double sum = 0;
    for (int64_t row = 0; row < numRows; ++row) sum += gradient[static_cast<size_t>(row * units + unit)];
    site.gradients[1].data[unit] = static_cast<float>(sum);
  }
  for (int64_t row = 0; row < numRows; ++row) {
    for (int64_t i = 0; i < inputs; ++i) {
      double sum = 0;
      for (int64_t unit = 0; unit < units; ++unit) {
        sum += gradient[static_cast<size_t>(row * units + unit)] * kernel[i * units + unit];
      }
      site.inputGradient[row * inputs + i] = static_cast<float>(sum);
    }
  }
}

}  // namespace bloomery::nn::reference
