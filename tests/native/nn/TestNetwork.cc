#include "nn/TestNetwork.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/Error.h"
#include "base/Random.h"

namespace bloomery::nn {

const char* const kMnistCnn =
    R"([{'kind': 'Input', 'shape': [28, 28, 1], 'dtype': 'uint8', 'scale': 0.00392156862745098},
    {'kind': 'Conv2D', 'filters': 32, 'kernelSize': 3, 'activation': 'relu'},
    {'kind': 'Conv2D', 'filters': 64, 'kernelSize': 3, 'activation': 'relu'},
    {'kind': 'MaxPool2D', 'poolSize': 2}, {'kind': 'Dropout', 'rate': 0.25}, {'kind': 'Flatten'},
    {'kind': 'Dense', 'units': 128, 'activation': 'relu'}, {'kind': 'Dropout', 'rate': 0.5},
    {'kind': 'Dense', 'units': 10, 'activation': 'softmax'}])";

namespace {

network::Graph graphOf(std::string layers) {
  std::replace(layers.begin(), layers.end(), '\'', '"');
  return network::Graph::fromJson(Json{{"layers", parseJson(layers, "layers")}});
}

double largestOf(std::span<const float> values) {
  double largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

void expectNear(std::span<const float> actual, std::span<const float> expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = std::max(largestOf(expected), 1e-2), worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    double error = std::abs(double{actual[i]} - expected[i]);
    if (std::isnan(error)) error = INFINITY;
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  EXPECT_LE(worst, tolerance * scale) << what << "[" << where << "]: " << actual[where] << ", expected "
                                      << expected[where] << ", largest " << scale;
}

}  // namespace

std::vector<float> randomFloats(int64_t size, uint64_t key, float scale) {
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (2.0f * uniformFloat(philox(key, i, 0)[0]) - 1.0f) * scale;
  return values;
}

TestNetwork::TestNetwork(std::string layers, int64_t numRows, uint64_t seed)
    : graph(graphOf(std::move(layers))), layout(graph.parameters().layout()), parameters(layout), gradients(layout) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    inputs.push_back(randomFloats(numRows * graph.input(i).shape.numElements(), mixKey(seed, message("features", i))));
    int64_t limit = graph.indexLimit(i);
    for (float& value : inputs.back()) {
      if (limit > 0) value = std::floor((value + 1.0f) / 2.0f * static_cast<float>(limit));
    }
  }
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const network::Parameter& parameter = graph.parameters().parameters()[i];
    float scale = parameter.shape.rank() == 1 ? 0.2f : std::sqrt(4.0f / static_cast<float>(parameter.fanIn));
    if (parameter.name.ends_with("/embeddings")) scale = 0.8f;
    std::vector<float> values = randomFloats(parameter.shape.numElements(), mixKey(seed, parameter.name), scale);
    // Factors and variances lie around one.
    if (parameter.initializer == network::Initializer::kOnes) {
      for (float& value : values) value += 1.0f;
    }
    std::copy(values.begin(), values.end(), parameters.view(layout.slices()[i]).data);
  }
  int64_t classes = graph.outputShape().numElements();
  for (int64_t row = 0; row < numRows; ++row) {
    RandomBlock random = philox(mixKey(seed, "rows"), static_cast<uint64_t>(row), 0);
    rowIds.push_back((uint64_t{random[0] % 5} << 40) + random[1] % 1000000);
    labels.push_back(static_cast<int32_t>(random[2] % static_cast<uint64_t>(classes)));
    weights.push_back(0.5f + uniformFloat(random[3]));
  }
}

BatchInput TestNetwork::batch() const {
  pointers.clear();
  for (const auto& input : inputs) pointers.push_back(input.data());
  return {pointers, rowIds, static_cast<int64_t>(rowIds.size()), 3};
}

double TestNetwork::weightSum() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }

StepResult trainStep(Plan& plan, const TestNetwork& network) {
  std::fill(network.gradients.all().begin(), network.gradients.all().end(), NAN);
  StepResult result;
  NoGradientSink sink;
  plan.forward(network.batch(), Mode::kTraining);
  result.sums =
      softmaxCrossEntropy(plan.logits(), network.labels, network.weights, network.weightSum(), plan.logitGradients());
  result.loss = result.sums.loss / result.sums.weight;
  const float* logits = plan.logits().data;
  result.logits.assign(logits, logits + network.batch().numRows * network.graph.outputShape().numElements());
  plan.backward(sink);
  result.gradients.resize(network.gradients.all().size());
  for (const Slice& slice : network.layout.slices()) {
    std::copy_n(network.gradients.view(slice).data, slice.size,
                result.gradients.begin() + static_cast<int64_t>(slice.offset));
  }
  return result;
}

StepResult trainStep(MakePlan make, const TestNetwork& network, int64_t batchSize) {
  return trainStep(*make(network.graph, network.parameters, &network.gradients, network.options(batchSize)), network);
}

void expectNear(const TestNetwork& network, const StepResult& actual, const StepResult& expected, double tolerance) {
  expectNear(actual.logits, expected.logits, tolerance, "logits");
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * std::max(1.0, std::abs(expected.loss)));
  for (size_t i = 0; i < network.layout.slices().size(); ++i) {
    const Slice& slice = network.layout.slices()[i];
    const network::Parameter& parameter = network.graph.parameters().parameters()[i];
    bool frozen = !parameter.trainable && !parameter.runningMomentum;
    if (frozen || std::isnan(actual.gradients[slice.offset])) {
      EXPECT_TRUE(!parameter.trainable) << slice.name;
      continue;
    }
    expectNear(std::span(actual.gradients).subspan(slice.offset, slice.size),
               std::span(expected.gradients).subspan(slice.offset, slice.size), tolerance, slice.name);
  }
}

}  // namespace bloomery::nn
