#include <algorithm>
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

// One number of each group, and behind them how many values a group has: over all workers where there is a reducer.
struct Sums {
  Sums(size_t groups, int64_t count) : values(groups + 1) { values.back() = static_cast<double>(count); }
  double& of(size_t group) { return values[group]; }
  void add(Reducer* reducer) {
    if (reducer != nullptr) reducer->add(values);
  }
  // Nobody may have any.
  double mean(size_t group) const { return values[group] / std::max(values.back(), 1.0); }

  std::vector<double> values;
};

std::vector<Moments> momentsOf(const float* values, const std::vector<Group>& groups, Reducer* reducer = nullptr) {
  std::vector<Moments> moments(groups.size());
  Sums sums(groups.size(), groups[0].count), squares = sums;
  for (size_t k = 0; k < groups.size(); ++k) {
    for (int64_t i = 0; i < groups[k].count; ++i) sums.of(k) += values[groups[k].first + i * groups[k].stride];
  }
  sums.add(reducer);
  for (size_t k = 0; k < groups.size(); ++k) {
    moments[k].mean = sums.mean(k);
    for (int64_t i = 0; i < groups[k].count; ++i) {
      double centered = values[groups[k].first + i * groups[k].stride] - moments[k].mean;
      squares.of(k) += centered * centered;
    }
  }
  squares.add(reducer);
  for (size_t k = 0; k < groups.size(); ++k) moments[k].variance = squares.mean(k);
  return moments;
}

// The slope through mean and variance: with y = (x - mean) * inverse and g = dL/dy,
// dx = inverse * (g - mean(g) - y * mean(g * y)).
void backwardThroughMoments(const Site& site, const std::vector<Group>& groups, const std::vector<Moments>& moments,
                            double epsilon, const std::vector<std::vector<double>>& gradients,
                            Reducer* reducer = nullptr) {
  Sums sums(groups.size(), groups[0].count), sumsWithY = sums;
  auto inverse = [&](size_t k) { return 1 / std::sqrt(moments[k].variance + epsilon); };
  auto y = [&](size_t k, int64_t i) {
    return (site.input[groups[k].first + i * groups[k].stride] - moments[k].mean) * inverse(k);
  };
  for (size_t k = 0; k < groups.size(); ++k) {
    for (int64_t i = 0; i < groups[k].count; ++i) {
      sums.of(k) += gradients[k][static_cast<size_t>(i)];
      sumsWithY.of(k) += gradients[k][static_cast<size_t>(i)] * y(k, i);
    }
  }
  sums.add(reducer);
  sumsWithY.add(reducer);
  for (size_t k = 0; k < groups.size(); ++k) {
    for (int64_t i = 0; i < groups[k].count; ++i) {
      site.inputGradient[groups[k].first + i * groups[k].stride] = static_cast<float>(
          inverse(k) * (gradients[k][static_cast<size_t>(i)] - sums.mean(k) - y(k, i) * sumsWithY.mean(k)));
    }
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

namespace {

std::vector<Group> channelsOf(const Site& site, int64_t numRows) {
  int64_t channels = site.node.input.extents().back();
  std::vector<Group> groups;
  for (int64_t channel = 0; channel < channels; ++channel) {
    groups.push_back({channel, numRows * site.node.input.numElements() / channels, channels});
  }
  return groups;
}

// The batch's in training, else those that were learnt.
std::vector<Moments> momentsOf(const network::BatchNormalization& layer, const Site& site) {
  std::vector<Group> groups = channelsOf(site, site.numRows);
  if (site.training) return momentsOf(site.input, groups, layer.synchronized ? site.reducer : nullptr);
  std::vector<Moments> moments;
  for (size_t k = 0; k < groups.size(); ++k) {
    moments.push_back({site.parameters[site.parameters.size() - 2].data[k], site.parameters.back().data[k]});
  }
  return moments;
}

}  // namespace

void forward(const network::BatchNormalization& layer, const Site& site) {
  std::vector<Moments> moments = momentsOf(layer, site);
  std::vector<Group> groups = channelsOf(site, site.batch);
  for (size_t k = 0; k < groups.size(); ++k) {
    Normalized<network::BatchNormalization>{layer, site}.write(groups[k], moments[k], groups[k].first, false);
  }
}

// Running statistics get those of the batch in place of a gradient. A frozen layer has none, and its own are fixed.
void backward(const network::BatchNormalization& layer, const Site& site) {
  clearGradients(site);
  std::fill_n(site.inputGradient, site.batch * site.node.input.numElements(), 0.0f);
  std::vector<Group> groups = channelsOf(site, site.numRows);
  std::vector<Moments> moments = momentsOf(layer, site);
  std::vector<std::vector<double>> gradients;
  Normalized<network::BatchNormalization> normalized{layer, site};
  for (size_t k = 0; k < groups.size(); ++k) {
    gradients.push_back(normalized.gradients(groups[k], moments[k], groups[k].first, false));
  }
  if (site.training) {
    Reducer* reducer = layer.synchronized ? site.reducer : nullptr;
    backwardThroughMoments(site, groups, moments, layer.epsilon, gradients, reducer);
    for (size_t k = 0; k < groups.size(); ++k) {
      site.gradients[site.gradients.size() - 2].data[k] = static_cast<float>(moments[k].mean * site.rowShare);
      site.gradients.back().data[k] = static_cast<float>(moments[k].variance * site.rowShare);
    }
    return;
  }
  for (size_t k = 0; k < groups.size(); ++k) {
    for (int64_t i = 0; i < groups[k].count; ++i) {
      site.inputGradient[groups[k].first + i * groups[k].stride] =
          static_cast<float>(gradients[k][static_cast<size_t>(i)] / std::sqrt(moments[k].variance + layer.epsilon));
    }
  }
}

void forward(const network::LayerNormalization& layer, const Site& site) {
  int64_t last = site.node.input.extents().back(), size = site.batch * site.node.input.numElements();
  for (int64_t first = 0; first < size; first += last) {
    Group group{first, last, 1};
    Normalized<network::LayerNormalization>{layer, site}.write(group, momentsOf(site.input, {group})[0], 0, true);
  }
}

void backward(const network::LayerNormalization& layer, const Site& site) {
  int64_t last = site.node.input.extents().back(), size = site.batch * site.node.input.numElements();
  clearGradients(site);
  for (int64_t first = 0; first < size; first += last) {
    Group group{first, last, 1};
    std::vector<Moments> moments = momentsOf(site.input, {group});
    auto gradient = Normalized<network::LayerNormalization>{layer, site}.gradients(group, moments[0], 0, true);
    backwardThroughMoments(site, {group}, moments, layer.epsilon, {gradient});
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
