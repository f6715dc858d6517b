// The networks that the builders write, as tests/golden/networks.py keeps them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/Error.h"
#include "network/Networks.h"

namespace bloomery::network {
namespace {

Graph golden(const std::string& name) {
  std::ifstream file(std::string(BLOOMERY_GOLDEN_DIRECTORY) + "/networks/" + name + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  return graphOf(text.str());
}

TEST(Zoo, networksHaveTheKnownNumbersOfParameters) {
  struct {
    const char* name;
    int64_t trainable, total;
    Shape output;
  } wanted[] = {
      {"mnist-cnn", 1'199'882, 1'199'882, {10}},    {"cifar-resnet56v2", 1'663'338, 1'673'738, {10}},
      {"captioning", 5'527'963, 5'527'963, {7579}}, {"fish-resnet34", 21'283'017, 21'300'041, {9}},
      {"solar-mlp-10", 183'511, 183'511, {1}},      {"solar-mlp-100", 16'010'101, 16'010'101, {1}},
      {"solar-cnn", 4'352'641, 4'352'641, {1}},
  };
  for (const auto& network : wanted) {
    Graph graph = golden(network.name);
    EXPECT_EQ(graph.name(), network.name);
    EXPECT_EQ(graph.parameters().numTrainableValues(), network.trainable) << network.name;
    EXPECT_EQ(graph.parameters().numValues(), network.total) << network.name;
    EXPECT_EQ(graph.outputShape(), network.output) << network.name;
  }
}

const Node& nodeOf(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes()) {
    if (node.name == name) return node;
  }
  throw InternalError("No such node: " + name);
}

// torchvision's ResNet-34 on 1 x 197 x 148: what the symmetric padding gives.
TEST(Zoo, fishResnet34HasTheShapesOfTorchvision) {
  Graph graph = golden("fish-resnet34");
  EXPECT_EQ(nodeOf(graph, "conv2d").output, (Shape{99, 74, 64}));
  EXPECT_EQ(nodeOf(graph, "max_pool2d").output, (Shape{50, 37, 64}));
  EXPECT_EQ(nodeOf(graph, "add_3").output, (Shape{25, 19, 128}));
  EXPECT_EQ(nodeOf(graph, "add_7").output, (Shape{13, 10, 256}));
  EXPECT_EQ(nodeOf(graph, "add_15").output, (Shape{7, 5, 512}));
}

TEST(Zoo, cifarResnet56v2RegularizesEveryConvolution) {
  int regularized = 0;
  Graph graph = golden("cifar-resnet56v2");
  for (const Parameter& parameter : graph.parameters().parameters()) {
    if (parameter.shape.rank() != 4) continue;
    EXPECT_EQ(parameter.regularizer.l2, 1e-4f) << parameter.name;
    EXPECT_EQ(parameter.initializer, Initializer::kHeNormal) << parameter.name;
    ++regularized;
  }
  EXPECT_EQ(regularized, 1 + 3 * (6 * 3 + 1));
}

TEST(Zoo, captioningTakesFeaturesAndTokens) {
  Graph graph = golden("captioning");
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.input(0).shape, Shape{4096});
  EXPECT_EQ(graph.input(1).shape, Shape{34});
  EXPECT_EQ(graph.input(1).dtype, DType::kInt32);
  EXPECT_EQ(graph.indexLimit(0), 0);
  EXPECT_EQ(graph.indexLimit(1), 7579);
}

TEST(Zoo, everyKindAndOptionOfTheBuildersIsKnown) {
  Graph graph = golden("every-kind");
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0].name, "scores");
  EXPECT_EQ(graph.outputs()[0].shape, (Shape{2, 3}));
  const Node &first = nodeOf(graph, "shared"), &second = nodeOf(graph, "shared_1");
  EXPECT_EQ(first.numParameters, 2u);
  EXPECT_EQ(first.firstParameter, second.firstParameter);
}

}  // namespace
}  // namespace bloomery::network
