// Every way in which a network can be wrong, and what the user is told.
#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "network/Networks.h"

namespace bloomery::network {
namespace {

std::string errorOf(const std::string& json) {
  try {
    graphOf(json);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

struct Case {
  std::string json;
  const char* error;
};

TEST(GraphErrors, wrongFrame) {
  const std::string good = R"([{"kind": "Input", "shape": [4]}, {"kind": "Dense", "units": 2}])";
  Case cases[] = {
      {"[]", "Not a JSON object: network, found array"},
      {"{}", "Missing option: layers, in network"},
      {R"({"format": "keras", "layers": )" + good + "}", R"(Not a Bloomery network: format "keras")"},
      {R"({"format": 1, "layers": )" + good + "}", "Wrong value for format of network: 1, wanted a text"},
      {R"({"version": 2, "layers": )" + good + "}",
       "Network format is newer than this engine: version 2, known: 1, use a newer release of Bloomery"},
      {R"({"version": "1", "layers": )" + good + "}",
       R"(Wrong value for version of network: "1", wanted a whole number)"},
      {R"({"name": 7, "layers": )" + good + "}", "Wrong value for name of network: 7, wanted a text"},
      {R"({"layer": )" + good + "}", "Missing option: layers, in network"},
      {R"({"layers": )" + good + R"(, "Name": "x"})", "Unknown option: Name, nearest known: name, in network"},
      {R"({"layers": )" + good + R"(, "optimizer": "x"})",
       "Unknown option: optimizer, known: format, layers, name, outputs, version, in network"},
      {R"({"layers": []})", "Network has no layers: give at least an Input and one more"},
      {R"({"layers": {}})", "Network has no layers: give at least an Input and one more"},
      {R"({"layers": "Dense"})", "Network has no layers: give at least an Input and one more"},
      {R"({"layers": [{"kind": "Input", "shape": [4]}]})", "Network has only an Input: add at least one layer"},
      {R"({"layers": [{"kind": "Dense", "units": 2}]})", "First layer must be an Input: found 'dense' (Dense)"},
  };
  for (const Case& one : cases) EXPECT_EQ(errorOf(one.json), one.error) << one.json;
}

TEST(GraphErrors, wrongLayers) {
  Case cases[] = {
      {"3", "Not a JSON object: layer 1, found number"},
      {R"({"units": 3})", "Missing option: kind, in layer 1"},
      {R"({"kind": 3})", "Wrong value for kind of layer 1: 3, wanted a text"},
      {R"({"kind": "Dense", "name": 3, "units": 1})", "Wrong value for name of layer 1: 3, wanted a text"},
      {R"({"kind": "Dens", "units": 3})", "Unknown layer kind: Dens, nearest known: Dense, in layer 'dens' (Dens)"},
      {R"({"kind": "conv2d", "name": "c"})",
       "Unknown layer kind: conv2d, nearest known: Conv2D, in layer 'c' (conv2d)"},
      {R"({"kind": "LSTMs", "units": 3})", "Unknown layer kind: LSTMs, nearest known: LSTM, in layer 'lstms' (LSTMs)"},
      {R"({"kind": "Input", "name": "second", "shape": [4]}, {"kind": "Dense", "units": 2})",
       "Input is not used: layer 'input', connect it, add it to `outputs` or remove it"},
      {R"({"kind": "Dense", "units": 2}, {"kind": "Dense", "units": 2, "inputs": ["input"]})",
       "Layer leads to no output: 'dense', connect it, add it to `outputs` or remove it"},
      {R"({"kind": "Dense", "name": "a", "units": 2, "inputs": ["b"]}, {"kind": "Dense", "name": "b", "units": 2})",
       "Network has a cycle: layer 'b' takes the output of 'a', which depends on it"},
      {R"({"kind": "Dense", "name": "a", "units": 2, "inputs": ["a"]})",
       "Network has a cycle: layer 'a' takes the output of 'a', which depends on it"},
      {R"({"kind": "Add"})", "Layer 'add' (Add) takes two inputs or more, found 1"},
      {R"({"kind": "Dense", "name": "a", "units": 2}, {"kind": "Add", "inputs": ["input", "a"]})",
       "Shapes do not fit: layer 'add' (Add) after layer 'input' with output (4,) and layer 'a' with output (2,): "
       "wants "
       "inputs of one shape, gets (4,) and (2,)"},
      {R"({"kind": "Dense", "name": "a", "units": 2}, {"kind": "Dense", "units": 2, "sharedWith": "a"})",
       "Layer 'dense' (Dense) cannot share the parameters of 'a' (Dense): kind, options and input shape must be the "
       "same"},
      {R"({"kind": "Dense", "units": 2, "sharedWith": "b"})",
       "Layer 'dense' shares the parameters of 'b', which is not a layer before it"},
      {R"({"kind": "Embedding", "inputDim": 20000000, "outputDim": 2})",
       "Too large: inputDim 20000000, at most 16777216, in layer 'embedding' (Embedding)"},
      {R"({"kind": "LSTM", "units": 3})",
       "Shapes do not fit: layer 'lstm' (LSTM) after layer 'input' with output (4,): wants (steps, channels), gets "
       "(4,)"},
      {R"({"kind": "Reshape", "targetShape": [3, -1]})",
       "Shapes do not fit: layer 'reshape' (Reshape) after layer 'input' with output (4,): targetShape (3, -1) does "
       "not "
       "hold the 4 values of (4,)"},
      {R"({"kind": "BatchNormalization", "momentum": 1})",
       "Outside 0 <= momentum < 1: 1, in layer 'batch_normalization' (BatchNormalization)"},
      {R"({"kind": "Dense", "units": 3}, {"kind": "Normalization"})",
       "Layer 'normalization' (Normalization) takes its statistics from the rows only directly behind an Input: found "
       "behind 'dense' (Dense), move it there, or give it mean and variance"},
      {R"({"kind": "Normalization", "mean": 1})",
       "Only one of mean and variance is given: give both, or none, in layer 'normalization' (Normalization)"},
      {R"({"kind": "Normalization", "mean": [1, "a"], "variance": 1})",
       R"(Wrong mean: "a", wanted a number within float32 or a list of them, in layer 'normalization' (Normalization))"},
      {R"({"kind": "Normalization", "mean": 1, "variance": -0.5})",
       "Wrong variance: -0.5, wanted a number within float32 from 0 or a list of them, in layer 'normalization' "
       "(Normalization)"},
      {R"({"kind": "Normalization", "mean": [], "variance": 1})",
       "List is empty: mean, in layer 'normalization' (Normalization)"},
      {R"({"kind": "Normalization", "mean": [1, 2, 3], "variance": 1})",
       "Shapes do not fit: layer 'normalization' (Normalization) after layer 'input' with output (4,): mean has 3 "
       "values, "
       "wanted one, or 4"},
      {R"({"kind": "Normalization", "axis": 0})",
       "Shapes do not fit: layer 'normalization' (Normalization) after layer 'input' with output (4,): axis (0,) is "
       "not "
       "among those that it can have: -1, the last of (4,), or several up to the last, without the batch, or [] for "
       "none"},
      {R"({"kind": "Normalization", "name": "a"}, {"kind": "Normalization", "sharedWith": "a", "inputs": ["input"]})",
       "Layer 'normalization' (Normalization) cannot share the parameters of 'a': its statistics belong to one place "
       "of "
       "the network, add a layer of its own"},
      {R"({"kind": "Dense", "name": "input", "units": 3})", "Two layers have the same name: input"},
      {R"({"kind": "Dense", "units": 3, "inputs": ["elsewhere"]})",
       "Unknown layer: elsewhere, known: dense, input, in inputs of layer 'dense'"},
      {R"({"kind": "Dense", "units": 3, "inputs": ["input", "input"]})",
       "Layer 'dense' (Dense) takes one input, found 2"},
      {R"({"kind": "Dense", "units": 3, "inputs": "input"})",
       R"(Wrong value for inputs of layer 'dense' (Dense): "input", wanted a list of texts)"},
      {R"({"kind": "Dense"})", "Missing option: units, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "unit": 3})", "Missing option: units, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 3, "activaton": "relu"})",
       "Unknown option: activaton, nearest known: activation, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 0})", "Not positive: units 0, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": -5})", "Not positive: units -5, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 2.0})",
       "Wrong value for units of layer 'dense' (Dense): 2.0, wanted a whole number"},
      {R"({"kind": "Dense", "units": 1000000001})", "Too large: units 1000000001, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 1099511627776})", "Too large: units 1099511627776, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 1, "name": ""})", "Name is empty: layer 1 (Dense)"},
      {R"({"kind": "Reshape", "targetShape": [2, 2]}, {"kind": "GRU", "name": "a", "units": 2, "bidirectional": true},
          {"kind": "Dense", "name": "a/backward", "units": 2})",
       "Two parameters have the same name: a/backward/kernel, rename layer 'a/backward'"},
      {R"({"kind": "Reshape", "targetShape": [1, 1, 1, 1, 1, 1, 1, 1, 4]})",
       "Too many extents: 9, at most 8, in layer 'reshape' (Reshape)"},
      {R"({"kind": "BatchNormalization", "epsilon": 1e-50})",
       "Not positive in float32: epsilon 1e-50, in layer 'batch_normalization' (BatchNormalization)"},
      {R"({"kind": "Dense", "units": 3, "kernelRegularizer": {"l2": 1e39}})",
       "Wrong value for l2 of kernelRegularizer of layer 'dense' (Dense): 1e+39, wanted a number within float32"},
      {R"({"kind": "Dense", "units": 3, "activation": "rleu"})",
       "Unknown activation: rleu, nearest known: relu, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 3, "activation": "gelu_approximate"})",
       "Unknown activation: gelu_approximate, known: elu, gelu, leaky_relu, linear, relu, sigmoid, silu, softmax, "
       "softplus, "
       "tanh, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 3, "useBias": 1})",
       "Wrong value for useBias of layer 'dense' (Dense): 1, wanted true or false"},
      {R"({"kind": "Dense", "units": 3, "kernelInitializer": "glorotuniform"})",
       "Unknown initializer: glorotuniform, nearest known: glorot_uniform, in layer 'dense' (Dense)"},
      {R"({"kind": "Dense", "units": 3, "biasInitializer": "zero"})",
       "Unknown initializer: zero, nearest known: zeros, in layer 'dense' (Dense)"},
      {R"({"kind": "Dropout"})", "Missing option: rate, in layer 'dropout' (Dropout)"},
      {R"({"kind": "Dropout", "rate": 1})", "Rate outside 0 <= rate < 1: 1, in layer 'dropout' (Dropout)"},
      {R"({"kind": "Dropout", "rate": 0.99999999999})", "Rate outside 0 <= rate < 1: 1, in layer 'dropout' (Dropout)"},
      {R"({"kind": "Dropout", "rate": -0.1})", "Rate outside 0 <= rate < 1: -0.1, in layer 'dropout' (Dropout)"},
      {R"({"kind": "Dropout", "rate": "half"})",
       R"(Wrong value for rate of layer 'dropout' (Dropout): "half", wanted a number)"},
      {R"({"kind": "Activation"})", "Missing option: function, in layer 'activation' (Activation)"},
      {R"({"kind": "Activation", "function": "Relu"})",
       "Unknown activation: Relu, nearest known: relu, in layer 'activation' (Activation)"},
      {R"({"kind": "ReLU", "function": "relu"})",
       "Unknown option: function, known: inputs, kind, name, sharedWith, trainable, in layer 'relu' (ReLU)"},
      {R"({"kind": "Flatten", "axis": 1})",
       "Unknown option: axis, known: inputs, kind, name, sharedWith, trainable, in layer 'flatten' (Flatten)"},
  };
  for (const Case& one : cases) EXPECT_EQ(errorOf(networkOf("[4]", one.json)), one.error) << one.json;
}

TEST(GraphErrors, wrongWindows) {
  const std::string conv = R"({"kind": "Conv2D", "filters": 2, "kernelSize": )";
  Case cases[] = {
      {R"({"kind": "Conv2D", "kernelSize": 3})", "Missing option: filters, in layer 'conv2d' (Conv2D)"},
      {R"({"kind": "Conv2D", "filters": 3})", "Missing option: kernelSize, in layer 'conv2d' (Conv2D)"},
      {conv + "0}", "Not positive: kernelSize 0, in layer 'conv2d' (Conv2D)"},
      {conv + "[3, -1]}", "Not positive: kernelSize -1, in layer 'conv2d' (Conv2D)"},
      {conv + "[3, 3, 3]}",
       "Wrong value for kernelSize of layer 'conv2d' (Conv2D): [3,3,3], wanted a whole number or a pair of them"},
      {conv + R"(3, "strides": 0})", "Not positive: strides 0, in layer 'conv2d' (Conv2D)"},
      {conv + R"(3, "strides": -1})", "Not positive: strides -1, in layer 'conv2d' (Conv2D)"},
      {conv + R"(3, "padding": "sane"})", "Unknown padding: sane, nearest known: same, in layer 'conv2d' (Conv2D)"},
      {conv + R"(3, "padding": 1})", "Wrong value for padding of layer 'conv2d' (Conv2D): 1, wanted a text"},
      {R"({"kind": "Conv2D", "filters": 0, "kernelSize": 3})", "Not positive: filters 0, in layer 'conv2d' (Conv2D)"},
      {R"({"kind": "MaxPool2D", "poolSize": [2, 0]})", "Not positive: poolSize 0, in layer 'max_pool2d' (MaxPool2D)"},
      {R"({"kind": "MaxPool2D", "strides": -2})", "Not positive: strides -2, in layer 'max_pool2d' (MaxPool2D)"},
      {R"({"kind": "MaxPool2D", "pool_size": 2})",
       "Unknown option: pool_size, nearest known: poolSize, in layer 'max_pool2d' (MaxPool2D)"},
      {conv + "[5, 3]}",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): kernel height 5 is "
       "larger "
       "than the input extent 4"},
      {conv + "[3, 7]}",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): kernel width 7 is larger "
       "than the input extent 6"},
      {R"({"kind": "MaxPool2D", "name": "pool", "poolSize": [5, 2]})",
       "Shapes do not fit: layer 'pool' (MaxPool2D) after layer 'input' with output (4, 6, 1): pool height 5 is larger "
       "than the input extent 4"},
      {R"({"kind": "MaxPool2D", "poolSize": [1, 7]})",
       "Shapes do not fit: layer 'max_pool2d' (MaxPool2D) after layer 'input' with output (4, 6, 1): pool width 7 is "
       "larger than the input extent 6"},
      {conv + R"(1, "groups": 2})",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): groups 2 must divide the "
       "channels 1 and the filters 2"},
      {conv + R"(3, "dilationRate": 2})",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): kernel height 5 is "
       "larger "
       "than the input extent 4"},
      {conv + R"(2, "dilationRate": 2, "strides": 2})",
       "Strides and dilationRate cannot both be above 1, in layer 'conv2d' (Conv2D)"},
      {R"({"kind": "Flatten"}, )" + conv + "1}",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'flatten' with output (24,): wants (height, width, "
       "channels), gets (24,)"},
      {R"({"kind": "Flatten"}, {"kind": "MaxPool2D"})",
       "Shapes do not fit: layer 'max_pool2d' (MaxPool2D) after layer 'flatten' with output (24,): wants (height, "
       "width, "
       "channels), gets (24,)"},
      {conv + R"([1000000, 1000000], "padding": "same"})",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): kernel (1000000, "
       "1000000, "
       "1, 2) holds more than 1e9 values"},
      {R"({"kind": "Conv2D", "filters": 900000000, "kernelSize": 1})",
       "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4, 6, 1): output (4, 6, 900000000) "
       "holds more than 1e9 values"},
      {R"({"kind": "MaxPool2D", "poolSize": 1000000000, "padding": "same", "strides": 1})",
       "Layer 'max_pool2d' (MaxPool2D) needs too many operations for one sample: 1000000000000000000, at most "
       "100000000000000"},
      {R"({"kind": "Reshape", "targetShape": [24, 1]}, {"kind": "Conv1D", "filters": 1, "kernelSize": 1},
          {"kind": "Dense", "units": 50000000}, {"kind": "LSTM", "units": 2})",
       "Shapes do not fit: layer 'dense' (Dense) after layer 'conv1d' with output (24, 1): output (24, 50000000) holds "
       "more than 1e9 values"},
      {R"({"kind": "Flatten"}, {"kind": "Dense", "units": 900000000})",
       "Shapes do not fit: layer 'dense' (Dense) after layer 'flatten' with output (24,): kernel (24, 900000000) holds "
       "more than 1e9 values"},
  };
  for (const Case& one : cases) EXPECT_EQ(errorOf(networkOf("[4, 6, 1]", one.json)), one.error) << one.json;
}

TEST(GraphErrors, sequencesThatAreTooLong) {
  EXPECT_EQ(
      errorOf(networkOf("[1000000, 1]", R"({"kind": "LSTM", "units": 2000, "returnSequences": true})")),
      "Shapes do not fit: layer 'lstm' (LSTM) after layer 'input' with output (1000000, 1): output (1000000, 2000) "
      "holds more than 1e9 values");
}

TEST(GraphErrors, tooManyLayersAndManyOfThem) {
  auto layersOf = [](int count) {
    std::string layers = R"({"kind": "ReLU"})";
    for (int i = 1; i < count; ++i) layers += R"(, {"kind": "ReLU"})";
    return networkOf("[4]", layers);
  };
  EXPECT_EQ(errorOf(layersOf(10'000)), "Network has too many layers: 10001, at most 10000");
  Graph graph = graphOf(layersOf(9'999));
  EXPECT_EQ(graph.nodes().back().name, "relu_9998");
}

TEST(GraphErrors, batchesThatAreTooLargeNameTheLayer) {
  Graph graph = graphOf(kMnistCnn);
  EXPECT_EQ(graph.largestBatchSize(), INT32_MAX / (24 * 24 * 64));
  EXPECT_NO_THROW(graph.checkBatchSize(graph.largestBatchSize()));
  try {
    graph.checkBatchSize(graph.largestBatchSize() + 1);
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_STREQ(
        error.what(),
        "Layer 'conv2d_1' (Conv2D) gives too many values: (24, 24, 64) for a batch of 58255, at most 2147483647 "
        "in all, lower the batch size");
  }
}

TEST(GraphErrors, wrongInputs) {
  Case cases[] = {
      {R"("shape": [])", "Shape is empty, in layer 'input' (Input)"},
      {R"("shape": [28, 0, 1])", "Not positive: shape 0, in layer 'input' (Input)"},
      {R"("shape": [28, -1])", "Not positive: shape -1, in layer 'input' (Input)"},
      {R"("shape": 784)", "Wrong value for shape of layer 'input' (Input): 784, wanted a list of whole numbers"},
      {R"("shape": [null])", "Wrong value for shape of layer 'input' (Input): [null], wanted a list of whole numbers"},
      {R"("shape": [100000, 100000])", "Shape holds more than 1e9 values, in layer 'input' (Input)"},
      {R"("shape": [9223372036854775807, 9223372036854775807])",
       "Too large: shape 9223372036854775807, in layer 'input' (Input)"},
      {R"("shape": [1, 1, 1, 1, 1, 1, 1, 1, 1])", "Too many extents: 9, at most 8, in layer 'input' (Input)"},
      {R"("shape": [4], "scale": 1e300)",
       "Wrong value for scale of layer 'input' (Input): 1e+300, wanted a number within float32"},
      {R"("dtype": "uint8")", "Missing option: shape, in layer 'input' (Input)"},
      {R"("shape": [4], "dtype": "unit8")", "Unknown dtype: unit8, nearest known: uint8"},
      {R"("shape": [4], "scale": "1/255")",
       R"(Wrong value for scale of layer 'input' (Input): "1/255", wanted a number)"},
      {R"("shape": [4], "inputs": ["x"])", "Input takes no inputs: layer 'input'"},
  };
  for (const Case& one : cases) {
    std::string json = R"({"layers": [{"kind": "Input", )" + one.json + R"(}, {"kind": "Flatten"}]})";
    EXPECT_EQ(errorOf(json), one.error) << one.json;
  }
}

}  // namespace
}  // namespace bloomery::network
