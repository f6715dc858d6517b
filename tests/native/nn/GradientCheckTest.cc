// The reference's gradients against differences of its own loss. The plain loops sum in double and store float, which
// with a step of 1/1024 leaves an error of about 1e-4. Where the loss has a kink within the step (a ReLU or a maximum
// changes over) the two one-sided differences disagree, and the element is not counted.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "nn/LayerCases.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

using Case = LayerCase;

const std::string kHead = "{'kind': 'Flatten'}, {'kind': 'Dense', 'units': 3}]";
const std::string kImage = "[{'kind': 'Input', 'shape': [7, 6, 2]}, ", kVector = "[{'kind': 'Input', 'shape': [6]}, ";
const std::string kConv = "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': 3}, ";

const Case kCases[] = {
    {"dense", kVector + "{'kind': 'Dense', 'units': 5}, {'kind': 'Dense', 'units': 3}]"},
    {"denseRelu", kVector + "{'kind': 'Dense', 'units': 5, 'activation': 'relu'}, {'kind': 'Dense', 'units': 3}]"},
    {"conv", kImage + kConv + kHead},
    {"convSameStrided",
     kImage + "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': [3, 2], 'strides': [2, 1], 'padding': 'same'}, " + kHead},
    {"convConv", kImage + "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': 3, 'activation': 'relu'}, " + kConv + kHead},
    {"maxPool", kImage + kConv + "{'kind': 'MaxPool2D'}, " + kHead},
    {"maxPoolSameOverlapping",
     kImage + kConv + "{'kind': 'MaxPool2D', 'poolSize': 3, 'strides': 2, 'padding': 'same'}, " + kHead},
    {"dropout", kImage + kConv + "{'kind': 'Dropout', 'rate': 0.4}, " + kHead},
    {"relu", kImage + kConv + "{'kind': 'ReLU'}, " + kHead},
    {"softmax", kVector + "{'kind': 'Dense', 'units': 5}, {'kind': 'Softmax'}, {'kind': 'Dense', 'units': 3}]"},
    {"wholeNetwork",
     kImage +
         "{'kind': 'Conv2D', 'filters': 4, 'kernelSize': 3, 'activation': 'relu'}, {'kind': 'MaxPool2D'}, "
         "{'kind': 'Dropout', 'rate': 0.25}, {'kind': 'Flatten'}, {'kind': 'Dense', 'units': 8, 'activation': 'relu'}, "
         "{'kind': 'Dropout', 'rate': 0.5}, {'kind': 'Dense', 'units': 3, 'activation': 'softmax'}]"},
};

class GradientCheckTest : public testing::TestWithParam<Case> {};

double lossOf(Plan& plan, const TestNetwork& network) {
  plan.forward(network.batch(), Mode::kTraining);
  return softmaxCrossEntropy(plan.logits(), network.labels, network.weights, network.weightSum(), {}).loss /
         network.weightSum();
}

TEST_P(GradientCheckTest, gradientIsTheSlopeOfTheLoss) {
  constexpr float kStep = 1.0f / 1024;
  constexpr size_t kElements = 300;
  TestNetwork network(GetParam().layers, 4, 5);
  auto plan = makeReferencePlan(network.graph, network.parameters, &network.gradients, network.options(4));
  StepResult result = trainStep(*plan, network);
  double middle = lossOf(*plan, network);
  for (size_t index = 0; index < network.layout.slices().size(); ++index) {
    const Slice& slice = network.layout.slices()[index];
    if (!network.graph.parameters().parameters()[index].trainable) continue;
    // Of large parameters some elements, spread over all of it.
    size_t stride = slice.size / kElements + 1, numLooked = 0, numCounted = 0;
    for (size_t i = slice.offset; i < slice.offset + slice.size; i += stride, ++numLooked) {
      float& parameter = network.parameters.all()[i];
      float original = parameter;
      parameter = original + kStep;
      double above = (lossOf(*plan, network) - middle) / (parameter - original);
      parameter = original - kStep;
      double below = (middle - lossOf(*plan, network)) / (original - parameter);
      parameter = original;
      double kink = 1.5e-3 + 0.01 * std::abs(above);
      if (std::abs(above - below) > kink) continue;
      ++numCounted;
      EXPECT_NEAR(result.gradients[i], (above + below) / 2, 0.6 * kink) << slice.name << "[" << i - slice.offset << "]";
    }
    EXPECT_GE(numCounted, numLooked * 3 / 4) << slice.name;
  }
}

INSTANTIATE_TEST_SUITE_P(first, GradientCheckTest, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });
INSTANTIATE_TEST_SUITE_P(layers, GradientCheckTest, testing::ValuesIn(layerCases()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace

}  // namespace bloomery::nn
