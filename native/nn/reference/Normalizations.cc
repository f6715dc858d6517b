#include <cmath>
#include <limits>
#include <vector>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

// The values that are normalised together: `count` of them, `stride` apart.
struct Group {
  int64_t first, count, stride;
};

struct Moments {
  double mean = 0, variance = 0;
};

Moments momentsOf(const float* values, const Group& group) {
  Moments moments;
  for (int64_t i = 0; i < group.count; ++i) moments.mean += values[group.first + i * group.stride];
  moments.mean /= static_cast<double>(group.count);
  for (int64_t i = 0; i < group.count; ++i) {
    double centered = values[group.first + i * group.stride] - moments.mean;
    moments.variance += centered * centered;
  }
  moments.variance /= static_cast<double>(group.count);
  return moments;
}

// The slope through mean and variance: with y = (x - mean) * inverse and g = dL/dy,
// dx = inverse * (g - mean(g) - y * mean(g * y)).
void backwardThroughMoments(const Site& site, const Group& group, const Moments& moments, double epsilon,
                            const std::vector<double>& gradient) {
  double inverse = 1 / std::sqrt(moments.variance + epsilon), sum = 0, sumWithY = 0;
  auto y = [&](int64_t i) { return (site.input[group.first + i * group.stride] - moments.mean) * inverse; };
  for (int64_t i = 0; i < group.count; ++i) {
    sum += gradient[static_cast<size_t>(i)];
    sumWithY += gradient[static_cast<size_t>(i)] * y(i);
  }
  double count = static_cast<double>(group.count);
  for (int64_t i = 0; i < group.count; ++i) {
    site.inputGradient[group.first + i * group.stride] =
        static_cast<float>(inverse * (gradient[static_cast<size_t>(i)] - sum / count - y(i) * sumWithY / count));
  }
}

// Indices of the parameters that a layer has.
template <typename Layer>
int gammaOf(const Layer& layer) {
  return layer.scale ? 0 : -1;
}
template <typename Layer>
int betaOf(const Layer& layer) {
  return layer.center ? (layer.scale ? 1 : 0) : -1;
}
float parameter(const Site& site, int index, int64_t element, float otherwise) {
  return index < 0 ? otherwise : site.parameters[static_cast<size_t>(index)].data[element];
}
void addGradient(const Site& site, int index, int64_t element, double value) {
  if (index >= 0) site.gradients[static_cast<size_t>(index)].data[element] += static_cast<float>(value);
}

template <typename Layer>
struct Normalized {
  const Layer& layer;
  const Site& site;

  void write(const Group& group, const Moments& moments, int64_t channel, bool byElement) const {
    double inverse = 1 / std::sqrt(moments.variance + layer.epsilon);
    for (int64_t i = 0; i < group.count; ++i) {
      int64_t at = group.first + i * group.stride, element = byElement ? i : channel;
      site.output[at] = static_cast<float>((site.input[at] - moments.mean) * inverse *
                                               parameter(site, gammaOf(layer), element, 1.0f) +
                                           parameter(site, betaOf(layer), element, 0.0f));
    }
  }

  // Adds to the gradients of gamma and beta; returns dL/dy.
  std::vector<double> gradients(const Group& group, const Moments& moments, int64_t channel, bool byElement) const {
    double inverse = 1 / std::sqrt(moments.variance + layer.epsilon);
    std::vector<double> result;
    for (int64_t i = 0; i < group.count; ++i) {
      int64_t at = group.first + i * group.stride, element = byElement ? i : channel;
      double outer = site.outputGradient[at];
      addGradient(site, gammaOf(layer), element, outer * (site.input[at] - moments.mean) * inverse);
      addGradient(site, betaOf(layer), element, outer);
      result.push_back(outer * parameter(site, gammaOf(layer), element, 1.0f));
    }
    return result;
  }
};

void clearGradients(const Site& site) {
  for (const TensorView& gradient : site.gradients) {
    for (float& value : gradient.span()) value = 0;
  }
}

}  // namespace

void forward(const network::BatchNormalization& layer, const Site& site) {
  int64_t channels = site.node.input.extents().back(), size = site.node.input.numElements();
  const float* running = site.parameters[site.parameters.size() - 2].data;
  const float* runningVariance = site.parameters.back().data;
  for (int64_t channel = 0; channel < channels; ++channel) {
    Moments moments{running[channel], runningVariance[channel]};
    if (site.training) moments = momentsOf(site.input, {channel, site.numRows * size / channels, channels});
    Normalized<network::BatchNormalization>{layer, site}.write({channel, site.batch * size / channels, channels},
                                                               moments, channel, false);
  }
}

// Running statistics get those of the batch in place of a gradient. A frozen layer has none, and its own are fixed.
void backward(const network::BatchNormalization& layer, const Site& site) {
  int64_t channels = site.node.input.extents().back(), size = site.node.input.numElements();
  clearGradients(site);
  std::fill_n(site.inputGradient, site.batch * size, 0.0f);
  for (int64_t channel = 0; channel < channels; ++channel) {
    Group group{channel, site.numRows * size / channels, channels};
    Normalized<network::BatchNormalization> normalized{layer, site};
    if (site.training) {
      Moments moments = momentsOf(site.input, group);
      backwardThroughMoments(site, group, moments, layer.epsilon, normalized.gradients(group, moments, channel, false));
      site.gradients[site.gradients.size() - 2].data[channel] = static_cast<float>(moments.mean * site.rowShare);
      site.gradients.back().data[channel] = static_cast<float>(moments.variance * site.rowShare);
    } else {
      Moments fixed{site.parameters[site.parameters.size() - 2].data[channel], site.parameters.back().data[channel]};
      std::vector<double> gradient = normalized.gradients(group, fixed, channel, false);
      for (int64_t i = 0; i < group.count; ++i) {
        site.inputGradient[group.first + i * group.stride] =
            static_cast<float>(gradient[static_cast<size_t>(i)] / std::sqrt(fixed.variance + layer.epsilon));
      }
    }
  }
}

void forward(const network::LayerNormalization& layer, const Site& site) {
  int64_t last = site.node.input.extents().back(), size = site.batch * site.node.input.numElements();
  for (int64_t first = 0; first < size; first += last) {
    Group group{first, last, 1};
    Normalized<network::LayerNormalization>{layer, site}.write(group, momentsOf(site.input, group), 0, true);
  }
}

void backward(const network::LayerNormalization& layer, const Site& site) {
  int64_t last = site.node.input.extents().back(), size = site.batch * site.node.input.numElements();
  clearGradients(site);
  for (int64_t first = 0; first < size; first += last) {
    Group group{first, last, 1};
    Moments moments = momentsOf(site.input, group);
    auto gradient = Normalized<network::LayerNormalization>{layer, site}.gradients(group, moments, 0, true);
    backwardThroughMoments(site, group, moments, layer.epsilon, gradient);
  }
}

namespace {

// What has no variance is divided by 1.
double deviationOf(const Site& site, int64_t element) {
  float variance = site.parameters[1].data[element];
  return variance < std::numeric_limits<float>::min() ? 1.0 : std::sqrt(double{variance});
}

}  // namespace

void forward(const network::Normalization& layer, const Site& site) {
  int64_t size = site.batch * site.node.input.numElements();
  for (int64_t i = 0; i < size; ++i) {
    int64_t element = i % layer.size;
    double mean = site.parameters[0].data[element];
    site.output[i] = static_cast<float>((site.input[i] - mean) / deviationOf(site, element));
  }
}

void backward(const network::Normalization& layer, const Site& site) {
  int64_t size = site.batch * site.node.input.numElements();
  clearGradients(site);
  for (int64_t i = 0; i < size; ++i) {
    site.inputGradient[i] = static_cast<float>(site.outputGradient[i] / deviationOf(site, i % layer.size));
  }
}

}  // namespace bloomery::nn::reference
