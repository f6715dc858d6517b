// Random chains of all layers, the oneDNN plan against the plain loops: finds what no table thought of, above all
// buffers that are overwritten or shared too early.
#include <gtest/gtest.h>

#include <string>

#include "base/Random.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : seed_(seed) {
    bool image = below(4) > 0;
    int64_t height = 6 + below(8), width = 6 + below(8), channels = 1 + below(5);
    layers_ =
        "[{'kind': 'Input', 'shape': " + (image ? list(height, width, channels) : "[" + text(2 + below(20)) + "]") +
        "}, ";
    for (int64_t i = below(5); image && i > 0; --i) addImageLayer(height, width);
    if (image) layers_ += "{'kind': 'Flatten'}, ";
    for (int64_t i = below(4); i > 0; --i) addRowLayer();
    layers_ += "{'kind': 'Dense', 'units': 4}]";
    numRows_ = 1 + below(4);
    batchSize_ = numRows_ + below(3);
  }
  const std::string& layers() const { return layers_; }
  int64_t numRows() const { return numRows_; }
  int64_t batchSize() const { return batchSize_; }

 private:
  static std::string text(int64_t value) { return std::to_string(value); }
  static std::string list(int64_t a, int64_t b, int64_t c) {
    return "[" + text(a) + ", " + text(b) + ", " + text(c) + "]";
  }

  int64_t below(int64_t limit) { return philox(seed_, ++numDrawn_, 0)[0] % limit; }

  void addImageLayer(int64_t& height, int64_t& width) {
    std::string padding = below(2) == 0 ? "same" : "valid";
    int64_t window = 1 + below(3), stride = 1 + below(2);
    bool fits = std::min(height, width) >= window;
    int64_t kind = below(fits ? 7 : 3);
    if (kind < 3) return addElementwise(kind);
    bool pools = kind == 6;
    layers_ += pools ? "{'kind': 'MaxPool2D', 'poolSize': " : "{'kind': 'Conv2D', 'kernelSize': ";
    layers_ += text(window) + ", 'strides': " + text(stride) + ", 'padding': '" + padding + "'";
    if (!pools) {
      const int64_t filters[] = {1, 5, 8, 16, 24};
      layers_ +=
          ", 'filters': " + text(filters[below(5)]) + ", 'activation': '" + (below(3) == 0 ? "linear" : "relu") + "'";
    }
    layers_ += "}, ";
    for (int64_t* extent : {&height, &width}) {
      *extent = padding == "same" ? (*extent + stride - 1) / stride : (*extent - window) / stride + 1;
    }
  }

  void addRowLayer() {
    int64_t kind = below(5);
    if (kind < 3) return addElementwise(kind);
    layers_ += "{'kind': 'Dense', 'units': " + text(1 + below(40)) + ", 'activation': '" +
               (below(3) == 0 ? "linear" : "relu") + "', 'useBias': " + (below(4) == 0 ? "false" : "true") + "}, ";
  }

  void addElementwise(int64_t kind) {
    const char* layers[] = {"{'kind': 'ReLU'}, ", "{'kind': 'Dropout', 'rate': 0.3}, ", "{'kind': 'Softmax'}, "};
    layers_ += layers[kind];
  }

  uint64_t seed_, numDrawn_ = 0;
  std::string layers_;
  int64_t numRows_, batchSize_;
};

TEST(RandomNetworkTest, dnnlAgreesWithReference) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomNetwork random(seed);
    SCOPED_TRACE(random.layers());
    TestNetwork network(random.layers(), random.numRows(), seed);
    auto plan =
        makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(random.batchSize()));
    trainStep(*plan, network);  // leaves its traces in the buffers
    StepResult actual = trainStep(*plan, network);
    expectNear(network, actual, trainStep(makeReferencePlan, network, random.batchSize()), 1e-4);
    if (HasFailure()) break;
  }
}

}  // namespace

}  // namespace bloomery::nn
