// The oneDNN plan against the plain loops, over a table of shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "nn/LayerCases.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

using Case = LayerCase;

std::string input(int height, int width, int channels) {
  return "[{'kind': 'Input', 'shape': [" + std::to_string(height) + ", " + std::to_string(width) + ", " +
         std::to_string(channels) + "]}, ";
}
const std::string kVectorInput = "[{'kind': 'Input', 'shape': [13]}, ";
const std::string kHead = "{'kind': 'Flatten'}, {'kind': 'Dense', 'units': 5, 'activation': 'softmax'}]";
std::string conv(int filters, const std::string& options) {
  return "{'kind': 'Conv2D', 'filters': " + std::to_string(filters) + ", " + options + "}, ";
}
const std::string kConv3 = "'kernelSize': 3", kRelu = ", 'activation': 'relu'", kSame = ", 'padding': 'same'";
const std::string kReluLayer = "{'kind': 'ReLU'}, ", kSoftmaxLayer = "{'kind': 'Softmax'}, ",
                  kPool = "{'kind': 'MaxPool2D'}, ";
const std::string kDropout = "{'kind': 'Dropout', 'rate': 0.3}, ";
const std::string kOverlappingPool =
    "{'kind': 'MaxPool2D', 'poolSize': [3, 2], 'strides': [2, 1], 'padding': 'same'}, ";

const Case kCases[] = {
    {"denseOnly", kVectorInput + "{'kind': 'Dense', 'units': 5}]"},
    {"denseWithoutBias",
     kVectorInput + "{'kind': 'Dense', 'units': 7, 'useBias': false" + kRelu + "}, {'kind': 'Dense', 'units': 5}]"},
    {"denseChain", kVectorInput + "{'kind': 'Dense', 'units': 17" + kRelu + "}, {'kind': 'Dense', 'units': 300" +
                       kRelu + "}, {'kind': 'Dense', 'units': 5}]"},
    {"denseBatchOne", kVectorInput + "{'kind': 'Dense', 'units': 17" + kRelu + "}, {'kind': 'Dense', 'units': 5}]", 1,
     1},
    {"reluLayerIsFused",
     kVectorInput + "{'kind': 'Dense', 'units': 17}, " + kReluLayer + "{'kind': 'Dense', 'units': 5}]"},
    {"reluOfTheInput", kVectorInput + kReluLayer + "{'kind': 'Dense', 'units': 5}]"},
    {"softmaxInside",
     kVectorInput + "{'kind': 'Dense', 'units': 17}, " + kSoftmaxLayer + "{'kind': 'Dense', 'units': 5}]"},
    {"reluThenSoftmax",
     kVectorInput + "{'kind': 'Dense', 'units': 17" + kRelu + "}, " + kSoftmaxLayer + "{'kind': 'Dense', 'units': 5}]"},
    {"convReluThenSoftmax", input(8, 8, 1) + conv(16, kConv3 + kRelu) + kSoftmaxLayer + kHead},
    {"convReluThenDropout", input(8, 8, 1) + conv(16, kConv3 + kRelu) + kDropout + kHead},
    {"reluTwice", kVectorInput + "{'kind': 'Dense', 'units': 17" + kRelu + "}, " + kReluLayer + kReluLayer +
                      "{'kind': 'Dense', 'units': 5}]"},
    {"softmaxThenDropout",
     kVectorInput + "{'kind': 'Dense', 'units': 17}, " + kSoftmaxLayer + kDropout + "{'kind': 'Dense', 'units': 5}]"},
    {"endsInRelu", kVectorInput + "{'kind': 'Dense', 'units': 5" + kRelu + "}]"},
    {"linearActivation", kVectorInput + "{'kind': 'Dense', 'units': 5}, {'kind': 'Activation', 'function': 'linear'}]"},
    {"dropoutOfTheInput", kVectorInput + kDropout + "{'kind': 'Dense', 'units': 5}]"},
    {"dropoutAfterLinear",
     kVectorInput + "{'kind': 'Dense', 'units': 70}, " + kDropout + "{'kind': 'Dense', 'units': 5}]"},
    {"dropoutAfterRelu",
     kVectorInput + "{'kind': 'Dense', 'units': 70" + kRelu + "}, " + kDropout + "{'kind': 'Dense', 'units': 5}]"},
    {"dropoutTwice", kVectorInput + "{'kind': 'Dense', 'units': 70" + kRelu + "}, " + kDropout + kDropout +
                         "{'kind': 'Dense', 'units': 5}]"},
    {"reluAfterDropout",
     kVectorInput + "{'kind': 'Dense', 'units': 70}, " + kDropout + kReluLayer + "{'kind': 'Dense', 'units': 5}]"},
    {"flattenOfTheInput", input(3, 4, 2) + kHead},
    {"poolOfTheInput", input(6, 4, 3) + kPool + kHead},
    {"convOneChannel", input(9, 8, 1) + conv(4, kConv3) + kHead},
    {"convOneChannelReluSame", input(9, 8, 1) + conv(32, kConv3 + kRelu + kSame) + kHead},
    {"convOneChannelStrided", input(11, 8, 1) + conv(16, kConv3 + kRelu + ", 'strides': [2, 3]") + kHead},
    {"convOneChannelSameStrided", input(11, 8, 1) + conv(16, kConv3 + kRelu + kSame + ", 'strides': 2") + kHead},
    {"convOneChannelLargeKernel", input(15, 12, 1) + conv(8, "'kernelSize': [7, 5]" + kRelu) + kHead},
    {"convTwoChannels", input(7, 7, 2) + conv(24, kConv3 + kRelu) + kHead},
    {"convThreeChannels", input(9, 7, 3) + conv(16, kConv3 + kRelu + kSame) + kHead},
    {"convThreeChannelsWithoutBias", input(9, 7, 3) + conv(16, kConv3 + ", 'useBias': false") + kHead},
    {"convSevenChannels", input(6, 5, 7) + conv(17, kConv3 + kRelu) + kHead},
    {"convManyChannels", input(6, 5, 33) + conv(48, kConv3 + kRelu) + kHead},
    {"convOneFilter", input(6, 5, 3) + conv(1, kConv3) + kHead},
    {"convOneByOne", input(5, 5, 4) + conv(12, "'kernelSize': 1" + kRelu) + kHead},
    {"convWidthOne", input(9, 1, 3) + conv(6, "'kernelSize': [3, 1]" + kRelu) + kHead},
    {"convEvenKernelSame", input(7, 6, 3) + conv(6, "'kernelSize': [4, 2]" + kRelu + kSame) + kHead},
    {"convStrideAboveKernel", input(10, 9, 3) + conv(6, "'kernelSize': 2, 'strides': 3") + kHead},
    {"convConv", input(9, 9, 1) + conv(8, kConv3 + kRelu) + conv(16, kConv3 + kRelu) + kHead},
    {"convConvOddChannels", input(9, 9, 1) + conv(7, kConv3 + kRelu) + conv(17, kConv3 + kRelu) + kHead},
    {"convConvStrided",
     input(12, 11, 3) + conv(16, kConv3 + kRelu + kSame) + conv(16, kConv3 + kRelu + kSame + ", 'strides': 2") + kHead},
    {"convReluLayerPool", input(10, 10, 3) + conv(16, kConv3) + kReluLayer + kPool + kHead},
    {"convPool", input(10, 10, 3) + conv(16, kConv3) + kPool + kHead},
    {"convPoolOddChannels", input(10, 10, 3) + conv(5, kConv3 + kRelu) + kPool + kHead},
    {"convPoolLeftover", input(11, 9, 3) + conv(16, kConv3 + kRelu) + kPool + kHead},
    {"convPoolThree", input(11, 11, 1) + conv(16, kConv3 + kRelu) + "{'kind': 'MaxPool2D', 'poolSize': 3}, " + kHead},
    {"convOverlappingPool", input(10, 9, 3) + conv(16, kConv3 + kRelu) + kOverlappingPool + kHead},
    {"convPoolConv", input(12, 12, 1) + conv(16, kConv3 + kRelu) + kPool + conv(24, kConv3 + kRelu) + kHead},
    {"convPoolDropoutConv",
     input(12, 12, 1) + conv(16, kConv3 + kRelu) + kPool + kDropout + conv(24, kConv3 + kRelu) + kHead},
    {"convDropoutWithoutRelu", input(8, 8, 2) + conv(16, kConv3) + kDropout + kHead},
    {"convPoolRelu", input(10, 10, 3) + conv(16, kConv3) + kPool + kReluLayer + kHead},
    {"convPoolPool", input(14, 14, 1) + conv(16, kConv3 + kRelu) + kPool + kPool + kHead},
    {"convSoftmaxOverChannels", input(8, 8, 2) + conv(6, kConv3) + kSoftmaxLayer + kHead},
    {"missingRows", input(12, 12, 1) + conv(16, kConv3 + kRelu) + kPool + kDropout + kHead, 3, 8},
    {"oneRowOfMany", kVectorInput + "{'kind': 'Dense', 'units': 17" + kRelu + "}, {'kind': 'Dense', 'units': 5}]", 1,
     16},
    {"missingRowsThreeChannels", input(8, 8, 3) + conv(16, kConv3 + kRelu + kSame) + kHead, 2, 3},
    {"mnistCnn", kMnistCnn, 7, 8},
};

class DnnlPlanTest : public testing::TestWithParam<Case> {};

TEST_P(DnnlPlanTest, agreesWithReference) {
  TestNetwork network(GetParam().layers, GetParam().numRows);
  StepResult expected = trainStep(makeReferencePlan, network, GetParam().batchSize);
  StepResult actual = trainStep(makeDnnlPlan, network, GetParam().batchSize);
  expectNear(network, actual, expected, 2e-5);
}

std::vector<float> inferredBy(MakePlan make, const TestNetwork& network, const PlanOptions& options) {
  auto plan = make(network.graph, network.parameters, nullptr, options);
  plan->forward(network.batch(), Mode::kInference);
  const float* logits = plan->logits().data;
  return {logits, logits + network.batch().numRows * network.graph.outputShape().numElements()};
}

TEST_P(DnnlPlanTest, inferencePlanAgreesWithReference) {
  TestNetwork network(GetParam().layers, GetParam().numRows);
  PlanOptions options{GetParam().batchSize, false, 0};
  std::vector<float> expected = inferredBy(makeReferencePlan, network, options);
  auto expectSame = [&](const std::vector<float>& actual) {
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-5) << i;
  };
  expectSame(inferredBy(makeDnnlPlan, network, options));
  auto fixed = makeDnnlFixedParameters();
  options.fixed = fixed.get();
  expectSame(inferredBy(makeDnnlPlan, network, options));
  options.batchSize += 20;  // another plan, which may like other layouts
  expectSame(inferredBy(makeDnnlPlan, network, options));
}

// Seen by a kernel that is gone when the second plan is made.
TEST(FixedParameters, areBroughtIntoALayoutOnceForAllPlans) {
  TestNetwork network("[{'kind': 'Input', 'shape': [64]}, {'kind': 'Dense', 'units': 300}]", 30);
  auto fixed = makeDnnlFixedParameters();
  PlanOptions options{.batchSize = 30, .training = false, .fixed = fixed.get()};
  std::vector<float> first = inferredBy(makeDnnlPlan, network, options);
  const Slice& kernel = network.layout.slices()[0];
  std::ranges::fill(network.parameters.all().subspan(kernel.offset, kernel.size), 0.0f);
  EXPECT_EQ(inferredBy(makeDnnlPlan, network, options), first);
  options.fixed = nullptr;
  EXPECT_NE(inferredBy(makeDnnlPlan, network, options), first);
}

INSTANTIATE_TEST_SUITE_P(shapes, DnnlPlanTest, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });
INSTANTIATE_TEST_SUITE_P(layers, DnnlPlanTest, testing::ValuesIn(layerCases()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace

}  // namespace bloomery::nn
