// Convolution, pooling and padding: layers that look at a window of the image. Sequences are images of height 1.
#include <algorithm>
#include <vector>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using network::AxisPadding;
using network::Pair;

struct Window {
  Pair size, strides, dilation;
  network::Padding padding;
};

Window windowOf(const network::Convolution& layer) {
  return {layer.kernelSize, layer.strides, layer.dilation, layer.padding};
}
Window windowOf(const network::Pooling& layer) { return {layer.poolSize, layer.strides, {1, 1}, layer.padding}; }

Shape inputImage(const Site& site) { return network::imageOf(site.node.input); }
Shape outputImage(const Site& site) { return network::imageOf(site.node.output); }

// Calls visit(sample, outputPixel, windowElement, inputPixel) for every window element inside the image; pixels and
// elements count row by row.
template <typename Visit>
void forEachTap(const Window& window, const Site& site, Visit visit) {
  Shape in = inputImage(site), out = outputImage(site);
  auto [height, width] = window.size;
  AxisPadding vertical = network::paddingOf(window.padding, in[0], height, window.strides.first, window.dilation.first);
  AxisPadding horizontal =
      network::paddingOf(window.padding, in[1], width, window.strides.second, window.dilation.second);
  for (int64_t sample = 0; sample < site.batch; ++sample) {
    for (int64_t y = 0; y < out[0]; ++y) {
      for (int64_t x = 0; x < out[1]; ++x) {
        for (int64_t windowY = 0; windowY < height; ++windowY) {
          for (int64_t windowX = 0; windowX < width; ++windowX) {
            int64_t inputY = y * window.strides.first + windowY * window.dilation.first - vertical.before;
            int64_t inputX = x * window.strides.second + windowX * window.dilation.second - horizontal.before;
            if (inputY < 0 || inputY >= in[0] || inputX < 0 || inputX >= in[1]) continue;
            visit(sample, y * out[1] + x, windowY * width + windowX, inputY * in[1] + inputX);
          }
        }
      }
    }
  }
}

void store(const std::vector<double>& from, float* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

// Where a convolution multiplies: visit(input, kernel, output), all elements of their arrays.
template <typename Visit>
void forEachProduct(const network::Convolution& layer, const Site& site, Visit visit) {
  Shape in = inputImage(site), out = outputImage(site);
  int64_t groups = layer.groupsFor(in[2]), channels = in[2] / groups, filters = out[2] / groups;
  forEachTap(windowOf(layer), site, [&](int64_t sample, int64_t outputPixel, int64_t tap, int64_t inputPixel) {
    int64_t input = sample * in.numElements() + inputPixel * in[2];
    int64_t output = sample * out.numElements() + outputPixel * out[2];
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        int64_t kernel = (tap * channels + channel) * out[2] + group * filters;
        for (int64_t filter = 0; filter < filters; ++filter) {
          visit(input + group * channels + channel, kernel + filter, output + group * filters + filter);
        }
      }
    }
  });
}

// For every output of a max pooling, the input element that gave it: the first of the largest.
std::vector<int64_t> largestOf(const network::Pooling& layer, const Site& site) {
  Shape in = inputImage(site);
  int64_t channels = in[2], outputs = site.node.output.numElements();
  std::vector<int64_t> largest(static_cast<size_t>(site.batch * outputs), -1);
  forEachTap(windowOf(layer), site, [&](int64_t sample, int64_t outputPixel, int64_t, int64_t inputPixel) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      int64_t candidate = sample * in.numElements() + inputPixel * channels + channel;
      int64_t& chosen = largest[static_cast<size_t>(sample * outputs + outputPixel * channels + channel)];
      if (chosen < 0 || site.input[candidate] > site.input[chosen]) chosen = candidate;
    }
  });
  return largest;
}

// visit(input, output, share) for every element of an average pooling; a share is 1 / elements inside the image.
template <typename Visit>
void forEachShare(const network::Pooling& layer, const Site& site, Visit visit) {
  Shape in = inputImage(site), out = outputImage(site);
  std::vector<int64_t> counts(static_cast<size_t>(out[0] * out[1]), 0);
  forEachTap(windowOf(layer), site, [&](int64_t sample, int64_t outputPixel, int64_t, int64_t) {
    if (sample == 0) ++counts[static_cast<size_t>(outputPixel)];
  });
  forEachTap(windowOf(layer), site, [&](int64_t sample, int64_t outputPixel, int64_t, int64_t inputPixel) {
    for (int64_t channel = 0; channel < in[2]; ++channel) {
      visit(sample * in.numElements() + inputPixel * in[2] + channel,
            sample * out.numElements() + outputPixel * in[2] + channel,
            1.0 / static_cast<double>(counts[static_cast<size_t>(outputPixel)]));
    }
  });
}

// visit(input, output) for every value inside the padding.
template <typename Visit>
void forEachInside(const network::ZeroPadding& layer, const Site& site, Visit visit) {
  const Shape &in = site.node.input, &out = site.node.output;
  for (int64_t i = 0; i < site.batch * in.numElements(); ++i) {
    int64_t channel = i % in[2], x = i / in[2] % in[1], y = i / (in[2] * in[1]) % in[0], sample = i / in.numElements();
    int64_t row = y + layer.vertical.first, column = x + layer.horizontal.first;
    visit(i, sample * out.numElements() + (row * out[1] + column) * in[2] + channel);
  }
}

}  // namespace

void forward(const network::Convolution& layer, const Site& site) {
  int64_t filters = outputImage(site)[2];
  std::vector<double> sums(static_cast<size_t>(site.batch * site.node.output.numElements()), 0.0);
  if (layer.weights.useBias) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = site.parameters[1].data[static_cast<int64_t>(i) % filters];
  }
  const float* kernel = site.parameters[0].data;
  forEachProduct(layer, site, [&](int64_t input, int64_t weight, int64_t output) {
    sums[static_cast<size_t>(output)] += double{site.input[input]} * kernel[weight];
  });
  if (layer.activation == network::Function::kRelu) {
    for (double& sum : sums) sum = std::max(sum, 0.0);
  }
  store(sums, site.output);
}

void backward(const network::Convolution& layer, const Site& site) {
  int64_t filters = outputImage(site)[2], numOutputs = site.batch * site.node.output.numElements();
  std::vector<double> gradient(site.outputGradient, site.outputGradient + numOutputs);
  if (layer.activation == network::Function::kRelu) {
    for (int64_t i = 0; i < numOutputs; ++i) gradient[static_cast<size_t>(i)] *= site.output[i] > 0 ? 1 : 0;
  }
  const float* kernel = site.parameters[0].data;
  std::vector<double> kernelGradient(static_cast<size_t>(site.parameters[0].numElements()), 0.0);
  std::vector<double> inputGradient(static_cast<size_t>(site.batch * site.node.input.numElements()), 0.0);
  forEachProduct(layer, site, [&](int64_t input, int64_t weight, int64_t output) {
    double outer = gradient[static_cast<size_t>(output)];
    kernelGradient[static_cast<size_t>(weight)] += outer * site.input[input];
    inputGradient[static_cast<size_t>(input)] += outer * kernel[weight];
  });
  store(kernelGradient, site.gradients[0].data);
  store(inputGradient, site.inputGradient);
  if (layer.weights.useBias) {
    std::vector<double> biasGradient(static_cast<size_t>(filters), 0.0);
    for (int64_t i = 0; i < numOutputs; ++i)
      biasGradient[static_cast<size_t>(i % filters)] += gradient[static_cast<size_t>(i)];
    store(biasGradient, site.gradients[1].data);
  }
}

void forward(const network::Pooling& layer, const Site& site) {
  if (layer.maximum) {
    std::vector<int64_t> largest = largestOf(layer, site);
    for (size_t i = 0; i < largest.size(); ++i) site.output[i] = site.input[largest[i]];
    return;
  }
  std::vector<double> sums(static_cast<size_t>(site.batch * site.node.output.numElements()), 0.0);
  forEachShare(layer, site, [&](int64_t input, int64_t output, double share) {
    sums[static_cast<size_t>(output)] += share * site.input[input];
  });
  store(sums, site.output);
}

void backward(const network::Pooling& layer, const Site& site) {
  std::vector<double> sums(static_cast<size_t>(site.batch * site.node.input.numElements()), 0.0);
  if (layer.maximum) {
    std::vector<int64_t> largest = largestOf(layer, site);
    for (size_t i = 0; i < largest.size(); ++i) sums[static_cast<size_t>(largest[i])] += site.outputGradient[i];
  } else {
    forEachShare(layer, site, [&](int64_t input, int64_t output, double share) {
      sums[static_cast<size_t>(input)] += share * site.outputGradient[output];
    });
  }
  store(sums, site.inputGradient);
}

void forward(const network::ZeroPadding& layer, const Site& site) {
  std::fill_n(site.output, site.batch * site.node.output.numElements(), 0.0f);
  forEachInside(layer, site, [&](int64_t input, int64_t output) { site.output[output] = site.input[input]; });
}

void backward(const network::ZeroPadding& layer, const Site& site) {
  forEachInside(layer, site,
                [&](int64_t input, int64_t output) { site.inputGradient[input] = site.outputGradient[output]; });
}

}  // namespace bloomery::nn::reference
