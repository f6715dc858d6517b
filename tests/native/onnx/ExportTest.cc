// What can be told of an exported network without a reader; tests/python/test_onnx.py runs them with onnxruntime.
#include "onnx/Export.h"

#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "onnx/ModelBuilder.h"

namespace bloomery::onnx {
namespace {

std::string exported(const char* text) {
  network::Graph graph = network::Graph::fromJson(parseJson(text, "network"));
  Arena parameters(graph.parameters().layout());
  graph.parameters().initialize(1, parameters);
  return exportNetwork(graph, parameters);
}

size_t countOf(const std::string& bytes, const std::string& part) {
  size_t count = 0;
  for (size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + 1)) ++count;
  return count;
}

TEST(ExportTest, imagesAreTransposedOnceOnTheirWayThroughConvolutions) {
  std::string bytes = exported(R"({"layers": [{"kind": "Input", "shape": [6, 6, 3]},
    {"kind": "Conv2D", "name": "a", "filters": 4, "kernelSize": 3, "activation": "silu"},
    {"kind": "BatchNormalization"}, {"kind": "MaxPool2D"}, {"kind": "Conv2D", "filters": 4, "kernelSize": 1},
    {"kind": "GlobalAveragePool2D"}, {"kind": "Dense", "units": 2}]})");
  EXPECT_EQ(countOf(bytes, "\"\tTranspose"), 1u);  // the field of the operator
}

TEST(ExportTest, sharedParametersStandOnceInTheFile) {
  const char* kTwice = R"({"layers": [{"kind": "Input", "name": "x", "shape": [100]},
    {"kind": "Dense", "name": "a", "units": 100}, {"kind": "Dense", "name": "b", "units": 100, "sharedWith": "a"}]})";
  const char* kOnce = R"({"layers": [{"kind": "Input", "name": "x", "shape": [100]},
    {"kind": "Dense", "name": "a", "units": 100}]})";
  EXPECT_LT(exported(kTwice).size(), exported(kOnce).size() + 1000);
}

TEST(ExportTest, modelBeyondItsLimitIsAUserError) {
  ModelBuilder model("large", 1000);
  std::vector<float> values(200);
  model.addFloats("first", {200}, values);
  try {
    model.addFloats("second", {200}, values);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Network is too large for an ONNX file, which holds 2 GiB: up to parameter second");
  }
}

}  // namespace
}  // namespace bloomery::onnx
