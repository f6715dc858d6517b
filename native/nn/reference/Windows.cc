// Convolution and pooling: layers that look at a window of the image.
#include <limits>
#include <vector>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using network::AxisPadding;

// Calls visit(sample, outputPixel, windowElement, inputPixel) for every window element inside the image; pixels and
// elements count row by row.
template <typename Layer, typename Visit>
void forEachTap(const Layer& layer, std::pair<int64_t, int64_t> window, const Site& site, Visit visit) {
  const Shape &in = site.node.input, &out = site.node.output;
  auto [strideHeight, strideWidth] = layer.strides;
  AxisPadding vertical = network::paddingOf(layer.padding, in[0], window.first, strideHeight);
  AxisPadding horizontal = network::paddingOf(layer.padding, in[1], window.second, strideWidth);
  for (int64_t sample = 0; sample < site.batch; ++sample) {
    for (int64_t y = 0; y < out[0]; ++y) {
      for (int64_t x = 0; x < out[1]; ++x) {
        for (int64_t windowY = 0; windowY < window.first; ++windowY) {
          for (int64_t windowX = 0; windowX < window.second; ++windowX) {
            int64_t inputY = y * strideHeight + windowY - vertical.before;
            int64_t inputX = x * strideWidth + windowX - horizontal.before;
            if (inputY < 0 || inputY >= in[0] || inputX < 0 || inputX >= in[1]) continue;
            visit(sample, y * out[1] + x, windowY * window.second + windowX, inputY * in[1] + inputX);
          }
        }
      }
    }
  }
}

void store(const std::vector<double>& from, float* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

// For every output of the pooling, the input element that gave it: the first of the largest.
std::vector<int64_t> largestOf(const network::MaxPool2D& layer, const Site& site) {
  const Shape &in = site.node.input, &out = site.node.output;
  int64_t channels = in[2];
  std::vector<int64_t> largest(static_cast<size_t>(site.batch * out.numElements()), -1);
  forEachTap(layer, layer.poolSize, site, [&](int64_t sample, int64_t outputPixel, int64_t, int64_t inputPixel) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      int64_t candidate = sample * in.numElements() + inputPixel * channels + channel;
      int64_t& chosen = largest[static_cast<size_t>(sample * out.numElements() + outputPixel * channels + channel)];
      if (chosen < 0 || site.input[candidate] > site.input[chosen]) chosen = candidate;
    }
  });
  return largest;
}

}  // namespace

void forward(const network::Conv2D& layer, const Site& site) {
  const Shape &in = site.node.input, &out = site.node.output;
  int64_t channels = in[2], filters = out[2];
  const float* kernel = site.parameters[0].data;  // [height, width, channels, filters]
  std::vector<double> sums(static_cast<size_t>(site.batch * out.numElements()), 0.0);
  if (layer.useBias) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = site.parameters[1].data[static_cast<int64_t>(i) % filters];
  }
  forEachTap(layer, layer.kernelSize, site, [&](int64_t sample, int64_t outputPixel, int64_t tap, int64_t inputPixel) {
    double* sum = sums.data() + sample * out.numElements() + outputPixel * filters;
    for (int64_t channel = 0; channel < channels; ++channel) {
      double value = site.input[sample * in.numElements() + inputPixel * channels + channel];
      const float* weights = kernel + (tap * channels + channel) * filters;
      for (int64_t filter = 0; filter < filters; ++filter) sum[filter] += value * weights[filter];
    }
  });
  if (layer.activation == network::Function::kRelu) {
    for (double& sum : sums) sum = std::max(sum, 0.0);
  }
  store(sums, site.output);
}

void backward(const network::Conv2D& layer, const Site& site) {
  const Shape &in = site.node.input, &out = site.node.output;
  int64_t channels = in[2], filters = out[2], numOutputs = site.batch * out.numElements();
  std::vector<double> gradient(site.outputGradient, site.outputGradient + numOutputs);
  if (layer.activation == network::Function::kRelu) {
    for (int64_t i = 0; i < numOutputs; ++i) gradient[static_cast<size_t>(i)] *= site.output[i] > 0 ? 1 : 0;
  }
  const float* kernel = site.parameters[0].data;
  std::vector<double> kernelGradient(static_cast<size_t>(site.parameters[0].numElements()), 0.0);
  std::vector<double> inputGradient(static_cast<size_t>(site.batch * in.numElements()), 0.0);
  forEachTap(layer, layer.kernelSize, site, [&](int64_t sample, int64_t outputPixel, int64_t tap, int64_t inputPixel) {
    const double* outer = gradient.data() + sample * out.numElements() + outputPixel * filters;
    for (int64_t channel = 0; channel < channels; ++channel) {
      int64_t input = sample * in.numElements() + inputPixel * channels + channel;
      int64_t row = (tap * channels + channel) * filters;
      for (int64_t filter = 0; filter < filters; ++filter) {
        kernelGradient[static_cast<size_t>(row + filter)] += outer[filter] * site.input[input];
        inputGradient[static_cast<size_t>(input)] += outer[filter] * kernel[row + filter];
      }
    }
  });
  store(kernelGradient, site.gradients[0].data);
  store(inputGradient, site.inputGradient);
  if (layer.useBias) {
    std::vector<double> biasGradient(static_cast<size_t>(filters), 0.0);
    for (int64_t i = 0; i < numOutputs; ++i)
      biasGradient[static_cast<size_t>(i % filters)] += gradient[static_cast<size_t>(i)];
    store(biasGradient, site.gradients[1].data);
  }
}

void forward(const network::MaxPool2D& layer, const Site& site) {
  std::vector<int64_t> largest = largestOf(layer, site);
  for (size_t i = 0; i < largest.size(); ++i) site.output[i] = site.input[largest[i]];
}

void backward(const network::MaxPool2D& layer, const Site& site) {
  std::vector<int64_t> largest = largestOf(layer, site);
  std::fill_n(site.inputGradient, site.batch * site.node.input.numElements(), 0.0f);
  for (size_t i = 0; i < largest.size(); ++i) site.inputGradient[largest[i]] += site.outputGradient[i];
}

}  // namespace bloomery::nn::reference
