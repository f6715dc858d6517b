#include "network/Graph.h"

#include <gtest/gtest.h>

#include <cstring>

#include "network/Networks.h"

namespace bloomery::network {
namespace {

TEST(Graph, mnistCnnHasTheKnownShapesAndParameters) {
  Graph graph = graphOf(kMnistCnn);
  struct {
    const char* name;
    const char* kind;
    Shape output;
    size_t parameters;
    bool implicit;
  } wanted[] = {
      {"input", "Input", {28, 28, 1}, 0, false},
      {"conv2d", "Conv2D", {26, 26, 32}, 2, false},
      {"conv2d_1", "Conv2D", {24, 24, 64}, 2, false},
      {"max_pool2d", "MaxPool2D", {12, 12, 64}, 0, false},
      {"dropout", "Dropout", {12, 12, 64}, 0, false},
      {"flatten", "Flatten", {9216}, 0, false},
      {"dense", "Dense", {128}, 2, false},
      {"dropout_1", "Dropout", {128}, 0, false},
      {"dense_1", "Dense", {10}, 2, false},
      {"dense_1/softmax", "Activation", {10}, 0, true},
  };
  ASSERT_EQ(graph.nodes().size(), std::size(wanted));
  size_t firstParameter = 0;
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const Node& node = graph.nodes()[i];
    EXPECT_EQ(node.name, wanted[i].name);
    EXPECT_EQ(node.kind, wanted[i].kind);
    EXPECT_EQ(node.output, wanted[i].output) << node.name;
    EXPECT_EQ(node.input, i == 0 ? Shape() : wanted[i - 1].output) << node.name;
    EXPECT_EQ(node.numParameters, wanted[i].parameters) << node.name;
    EXPECT_EQ(node.firstParameter, firstParameter) << node.name;
    EXPECT_EQ(node.implicit, wanted[i].implicit) << node.name;
    firstParameter += node.numParameters;
  }
  EXPECT_EQ(graph.name(), "mnist-cnn");
  EXPECT_EQ(graph.parameters().numValues(), 1199882);
  EXPECT_EQ(graph.outputShape(), Shape{10});
  EXPECT_TRUE(graph.endsInSoftmax());
  EXPECT_EQ(graph.outputLayer(), "dense_1");
  EXPECT_EQ(graph.input().dtype, DType::kUint8);
  EXPECT_DOUBLE_EQ(graph.input().scale, 1 / 255.0);
  // Two per multiplication and addition of convolutions and dense layers, one per value of the others.
  int64_t flops = 2 * (26 * 26 * 32 * 9 + 24 * 24 * 64 * 9 * 32 + 9216 * 128 + 128 * 10);
  EXPECT_EQ(graph.flopsPerSample(), flops + 12 * 12 * 64 * (4 + 1) + 128 + 10);
}

TEST(Graph, parametersHaveCanonicalNamesShapesAndOrder) {
  auto parameters = graphOf(kMnistCnn).parameters().parameters();
  struct {
    const char* name;
    Shape shape;
    int64_t fanIn, fanOut;
  } wanted[] = {
      {"conv2d/kernel", {3, 3, 1, 32}, 9, 288},      {"conv2d/bias", {32}, 32, 32},
      {"conv2d_1/kernel", {3, 3, 32, 64}, 288, 576}, {"conv2d_1/bias", {64}, 64, 64},
      {"dense/kernel", {9216, 128}, 9216, 128},      {"dense/bias", {128}, 128, 128},
      {"dense_1/kernel", {128, 10}, 128, 10},        {"dense_1/bias", {10}, 10, 10},
  };
  ASSERT_EQ(parameters.size(), std::size(wanted));
  for (size_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_EQ(parameters[i].name, wanted[i].name);
    EXPECT_EQ(parameters[i].shape, wanted[i].shape) << wanted[i].name;
    if (std::strstr(wanted[i].name, "kernel") == nullptr) continue;
    EXPECT_EQ(parameters[i].fanIn, wanted[i].fanIn) << wanted[i].name;
    EXPECT_EQ(parameters[i].fanOut, wanted[i].fanOut) << wanted[i].name;
  }
}

TEST(Graph, namesAreMadeFromKindsAndKeptWhenGiven) {
  Graph graph = graphOf(
      networkOf("[8, 8, 3]", R"({"kind": "ReLU"}, {"kind": "Conv2D", "name": "first", "filters": 2, "kernelSize": 1},
      {"kind": "Conv2D", "filters": 2, "kernelSize": 1}, {"kind": "Conv2D", "filters": 2, "kernelSize": 1, "name": null},
      {"kind": "MaxPool2D"}, {"kind": "Activation", "function": "relu"}, {"kind": "Softmax"}, {"kind": "Flatten"})"));
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"input", "relu", "first", "conv2d", "conv2d_1", "max_pool2d", "activation",
                                             "softmax", "flatten"}));
}

TEST(Graph, softmaxOfALayerBecomesANodeOfItsOwn) {
  Graph graph = graphOf(networkOf("[4]", R"({"kind": "Dense", "units": 3, "activation": "softmax"})"));
  ASSERT_EQ(graph.nodes().size(), 3u);
  EXPECT_EQ(activationOf(graph.nodes()[1].layer), Function::kLinear);
  EXPECT_EQ(activationOf(graph.nodes()[2].layer), Function::kSoftmax);
  EXPECT_EQ(graph.outputLayer(), "dense");
  EXPECT_TRUE(graph.endsInSoftmax());
  Graph explicitly = graphOf(networkOf("[4]", R"({"kind": "Dense", "units": 3}, {"kind": "Softmax"})"));
  EXPECT_TRUE(explicitly.endsInSoftmax());
  EXPECT_EQ(explicitly.outputLayer(), "softmax");
  EXPECT_FALSE(graphOf(networkOf("[4]", R"({"kind": "Dense", "units": 3, "activation": "relu"})")).endsInSoftmax());
}

TEST(Graph, defaultsAreKerass) {
  Graph graph = graphOf(networkOf("[9, 9, 2]", R"({"kind": "Conv2D", "filters": 4, "kernelSize": [3, 2]},
      {"kind": "MaxPool2D", "poolSize": [3, 2]}, {"kind": "Flatten"}, {"kind": "Dense", "units": 5})"));
  EXPECT_EQ(graph.name(), "network");
  EXPECT_EQ(graph.input().dtype, DType::kFloat32);
  EXPECT_EQ(graph.input().scale, 1.0);
  const auto& conv = std::get<Convolution>(graph.nodes()[1].layer);
  EXPECT_EQ(conv.strides, (std::pair<int64_t, int64_t>{1, 1}));
  EXPECT_EQ(conv.padding, Padding::kValid);
  EXPECT_EQ(conv.activation, Function::kLinear);
  EXPECT_TRUE(conv.weights.useBias);
  EXPECT_EQ(conv.weights.kernelInitializer, Initializer::kGlorotUniform);
  EXPECT_EQ(conv.weights.biasInitializer, Initializer::kZeros);
  EXPECT_EQ(std::get<Pooling>(graph.nodes()[2].layer).strides, (std::pair<int64_t, int64_t>{3, 2}));
  const auto& dense = std::get<Dense>(graph.nodes()[4].layer);
  EXPECT_TRUE(dense.weights.useBias);
  EXPECT_EQ(dense.activation, Function::kLinear);
}

TEST(Graph, normalizationKeepsItsStatisticsAsParametersThatAreNotTrained) {
  Graph graph = graphOf(networkOf("[3, 5]", R"({"kind": "Normalization", "name": "rows"},
      {"kind": "Normalization", "name": "places", "axis": [1, -1], "mean": 0.5, "variance": 4},
      {"kind": "Normalization", "name": "all", "axis": [], "mean": [1], "variance": [2]})"));
  EXPECT_EQ(graph.measuredNodes(), std::vector<size_t>{1});
  EXPECT_EQ(graph.parameters().numTrainableValues(), 0);
  const auto& parameters = graph.parameters().parameters();
  EXPECT_EQ(parameters[0].name, "rows/mean");
  EXPECT_EQ(parameters[1].shape, Shape{5});
  EXPECT_EQ(parameters[2].shape, (Shape{3, 5}));
  EXPECT_EQ(parameters[5].name, "all/variance");
  EXPECT_EQ(parameters[5].shape, Shape{1});
  Arena values(graph.parameters().layout());
  graph.parameters().initialize(1, values);
  EXPECT_EQ(values.view(graph.parameters().layout().find("places/variance")).data[14], 4.0f);
  EXPECT_EQ(values.view(graph.parameters().layout().find("all/mean")).data[0], 1.0f);
}

TEST(Graph, optionsAreHonoured) {
  Graph graph = graphOf(R"({"layers": [{"kind": "Input", "shape": [9, 8, 2], "dtype": "int16", "scale": -0.5},
      {"kind": "Conv2D", "filters": 4, "kernelSize": 3, "strides": [2, 3], "padding": "same", "activation": "relu",
       "useBias": false, "kernelInitializer": "he_normal", "biasInitializer": "ones", "inputs": ["input"]},
      {"kind": "MaxPool2D", "poolSize": 3, "strides": 1, "padding": "same"}]})");
  EXPECT_EQ(graph.input().dtype, DType::kInt16);
  EXPECT_EQ(graph.input().scale, -0.5);
  const auto& conv = std::get<Convolution>(graph.nodes()[1].layer);
  EXPECT_EQ(conv.kernelSize, (std::pair<int64_t, int64_t>{3, 3}));
  EXPECT_EQ(conv.strides, (std::pair<int64_t, int64_t>{2, 3}));
  EXPECT_EQ(conv.activation, Function::kRelu);
  EXPECT_EQ(conv.weights.kernelInitializer, Initializer::kHeNormal);
  EXPECT_EQ(graph.nodes()[1].output, (Shape{5, 3, 4}));
  EXPECT_EQ(graph.nodes()[1].numParameters, 1u);
  EXPECT_EQ(graph.nodes()[2].output, (Shape{5, 3, 4}));
}

}  // namespace
}  // namespace bloomery::network
