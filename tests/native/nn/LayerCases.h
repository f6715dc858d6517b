// One row for every layer kind and what can be special about it: small enough for finite differences, and also what the
// oneDNN plan is compared on. Single quotes stand for double ones.
#pragma once

#include <string>
#include <vector>

namespace bloomery::nn {

struct LayerCase {
  const char* name;
  std::string layers;
  int64_t numRows = 3;
  int64_t batchSize = 3;
};

inline std::vector<LayerCase> layerCases() {
  auto input = [](const std::string& shape) { return "[{'kind': 'Input', 'shape': [" + shape + "]}, "; };
  const std::string head = "{'kind': 'Flatten'}, {'kind': 'Dense', 'units': 3}]";
  const std::string conv = "{'kind': 'Conv2D', 'filters': 4, 'kernelSize': 3, 'padding': 'same'}, ";
  const std::string wide = "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'padding': 'same'}, ";
  const std::string norm = "{'kind': 'BatchNormalization', 'epsilon': 0.01}, ", relu = "{'kind': 'ReLU'}, ";
  const std::string dense = "{'kind': 'Dense', 'units': 8}, ";
  const std::string tokens = "[{'kind': 'Input', 'shape': [5], 'dtype': 'int32'}, ";
  const std::string words = tokens + "{'kind': 'Embedding', 'inputDim': 4, 'outputDim': 3}, ";
  const std::string masked = tokens + "{'kind': 'Embedding', 'inputDim': 3, 'outputDim': 3, 'maskZero': true}, ";
  auto activation = [](const std::string& name) { return "{'kind': 'Activation', 'function': '" + name + "'}, "; };
  std::vector<LayerCase> cases = {
      {"denseOnSteps", input("4, 5") + "{'kind': 'Dense', 'units': 3, 'activation': 'relu'}, " + head},
      {"denseOnManyRows", input("350, 5") + "{'kind': 'Dense', 'units': 17, 'activation': 'relu'}, {'kind': 'Dense', "
                                            "'units': 7}, {'kind': 'GlobalAveragePool1D'}, "
                                            "{'kind': 'Dense', 'units': 3}]"},
      {"convDilated",
       input("7, 8, 2") + "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': [3, 2], 'dilationRate': 2}, " + head},
      {"convDilatedSame",
       input("6, 5, 2") + "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': 3, 'dilationRate': 2, 'padding': 'same'}, " +
           head},
      {"convGroups", input("5, 5, 4") +
                         "{'kind': 'Conv2D', 'filters': 6, 'kernelSize': 3, 'groups': 2, 'activation': 'relu'}, " +
                         head},
      {"convManyGroups",
       input("4, 4, 1") + wide + "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'groups': 8}, " + head},
      {"depthwise", input("5, 5, 3") + "{'kind': 'DepthwiseConv2D', 'kernelSize': 3}, " + head},
      {"depthwiseMultiplied",
       input("5, 5, 3") +
           "{'kind': 'DepthwiseConv2D', 'kernelSize': 3, 'depthMultiplier': 2, 'padding': 'same', 'strides': 2}, " +
           head},
      {"depthwiseBehindConv", input("5, 5, 1") + wide + "{'kind': 'DepthwiseConv2D', 'kernelSize': 3}, " + head},
      {"conv1D", input("7, 3") +
                     "{'kind': 'Conv1D', 'filters': 4, 'kernelSize': 3, 'strides': 2, 'activation': 'relu'}, " + head},
      {"conv1DSame",
       input("6, 1") + "{'kind': 'Conv1D', 'filters': 4, 'kernelSize': 3, 'padding': 'same'}, {'kind': 'MaxPool1D'}, " +
           head},
      {"averagePool", input("6, 6, 2") + conv + "{'kind': 'AveragePool2D'}, " + head},
      {"averagePoolSame", input("7, 5, 2") + conv + relu +
                              "{'kind': 'AveragePool2D', 'poolSize': 3, 'strides': 2, 'padding': 'same'}, " + head},
      {"averagePool1D",
       input("7, 2") + "{'kind': 'Conv1D', 'filters': 3, 'kernelSize': 2}, {'kind': 'AveragePool1D'}, " + head},
      {"globalAverage",
       input("5, 4, 2") + conv + relu + "{'kind': 'GlobalAveragePool2D'}, {'kind': 'Dense', 'units': 3}]"},
      {"globalAverageWide",
       input("5, 4, 2") + wide + "{'kind': 'GlobalAveragePool2D'}, {'kind': 'Dense', 'units': 3}]"},
      {"globalMax", input("5, 4, 2") + conv + "{'kind': 'GlobalMaxPool2D'}, {'kind': 'Dense', 'units': 3}]"},
      {"globalMax1D", input("5, 3") + "{'kind': 'Conv1D', 'filters': 4, 'kernelSize': 2}, {'kind': 'GlobalMaxPool1D'}, "
                                      "{'kind': 'Dense', 'units': 3}]"},
      {"globalAverage1D", input("5, 3") + "{'kind': 'GlobalAveragePool1D'}, {'kind': 'Dense', 'units': 3}]"},
      {"batchNormOnRows", input("6") + dense + norm + "{'kind': 'Dense', 'units': 3}]", 5, 5},
      {"batchNormRelu", input("5, 4, 2") + conv + norm + relu + head, 4, 4},
      {"batchNormReluWide", input("5, 4, 2") + wide + norm + relu + wide + head, 2, 2},
      {"batchNormMissingRows", input("5, 4, 2") + wide + norm + relu + head, 3, 6},
      {"batchNormPlain",
       input("4, 4, 3") + conv + "{'kind': 'BatchNormalization', 'center': false, 'scale': false, 'epsilon': 0.01}, " +
           head,
       4, 4},
      {"batchNormFirst", input("4, 4, 3") + norm + conv + head, 4, 4},
      {"batchNormFrozen",
       input("4, 4, 3") + conv + "{'kind': 'BatchNormalization', 'trainable': false}, " + relu + head},
      {"layerNorm", input("9") + dense + "{'kind': 'LayerNormalization'}, {'kind': 'Dense', 'units': 3}]"},
      {"layerNormOnSteps",
       input("4, 9") + "{'kind': 'Dense', 'units': 5}, {'kind': 'LayerNormalization', 'scale': false}, " + head},
      {"layerNormOnImage", input("4, 4, 2") + wide + "{'kind': 'LayerNormalization', 'center': false}, " + head},
      {"normalization", input("6") + "{'kind': 'Normalization'}, " + dense + "{'kind': 'Dense', 'units': 3}]"},
      {"normalizationOfImage", input("4, 5, 3") + "{'kind': 'Normalization'}, " + conv + head},
      {"normalizationOfPlaces", input("3, 4") + "{'kind': 'Normalization', 'axis': [1, 2]}, " + head},
      {"normalizationOfAll", input("3, 4") + "{'kind': 'Normalization', 'axis': []}, " + head},
      {"normalizationInside",
       input("4, 4, 2") + wide + "{'kind': 'Normalization', 'mean': 0.5, 'variance': 2}, " + head},
      {"normalizationMissingRows",
       input("6") + "{'kind': 'Normalization'}, " + dense + "{'kind': 'Dense', 'units': 3}]", 2, 5},
      {"reshape",
       input("12") + "{'kind': 'Dense', 'units': 12}, {'kind': 'Reshape', 'targetShape': [2, -1, 2]}, " + conv + head},
      {"zeroPadding",
       input("4, 3, 2") + conv + relu + "{'kind': 'ZeroPadding2D', 'padding': [[1, 2], [0, 3]]}, " + conv + head},
      {"zeroPaddingStrided",
       input("7, 6, 2") +
           "{'kind': 'ZeroPadding2D', 'padding': [[1, 2], [0, 1]]}, {'kind': 'Conv2D', 'filters': 8, "
           "'kernelSize': 3, 'strides': 2, 'activation': 'relu'}, {'kind': 'ZeroPadding2D', 'padding': "
           "1}, {'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'strides': 2, 'padding': 'same'}, " +
           head},
      {"zeroPaddingMaxPool", input("6, 5, 2") + wide + relu + "{'kind': 'ZeroPadding2D', 'padding': 1}, " +
                                 "{'kind': 'MaxPool2D', 'poolSize': 3, 'strides': 2}, " + head},
      {"zeroPaddingMaxPoolNormed",
       input("6, 5, 2") + wide + norm + relu + "{'kind': 'ZeroPadding2D', 'padding': [[2, 0], [0, 2]]}, " +
           "{'kind': 'MaxPool2D', 'poolSize': 3, 'strides': 2}, " + head,
       4, 4},
      {"zeroPaddingMaxPoolNegative", input("6, 5, 2") + wide + "{'kind': 'ZeroPadding2D', 'padding': 1}, " +
                                         "{'kind': 'MaxPool2D', 'poolSize': 3, 'strides': 2}, " + head},
      {"zeroPaddingAveragePool", input("6, 5, 2") + wide + relu + "{'kind': 'ZeroPadding2D', 'padding': 1}, " +
                                     "{'kind': 'AveragePool2D', 'poolSize': 3, 'strides': 2}, " + head},
      {"zeroPaddingTakenTwice",
       input("4, 4, 2") + wide +
           "{'kind': 'ZeroPadding2D', 'padding': 1, 'name': 'p'}, {'kind': 'Conv2D', 'filters': "
           "16, 'kernelSize': 3, 'padding': 'same', 'name': 'a'}, {'kind': 'Add', 'inputs': "
           "['p', 'a']}, " +
           head},
      {"rescaling",
       input("4") + dense + "{'kind': 'Rescaling', 'scale': -0.5, 'offset': 2}, {'kind': 'Dense', 'units': 3}]"},
      {"leakyReluLayer",
       input("4") + dense + "{'kind': 'LeakyReLU', 'negativeSlope': 0.1}, {'kind': 'Dense', 'units': 3}]"},
      {"activationOfLayer",
       input("4, 4, 2") + "{'kind': 'Conv2D', 'filters': 3, 'kernelSize': 2, 'activation': 'tanh'}, " + head},
      {"add", input("6") + "{'kind': 'Dense', 'units': 6, 'name': 'a', 'activation': 'relu'}, {'kind': 'Add', "
                           "'inputs': ['a', 'input']}, {'kind': 'Dense', 'units': 3}]"},
      {"addRelu",
       input("5, 4, 2") + "{'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'name': 'a', 'padding': 'same'}, " +
           "{'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'name': 'b', 'padding': 'same', 'activation': 'relu'}, " +
           "{'kind': 'Add', 'inputs': ['b', 'a']}, {'kind': 'ReLU'}, " + head},
      {"addReluForked",
       input("5, 4, 2") + "{'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'name': 'a', 'padding': 'same'}, " + norm +
           relu + "{'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'name': 'b', 'padding': 'same'}, " +
           "{'kind': 'BatchNormalization', 'name': 'n'}, {'kind': 'Add', 'inputs': ['n', 'a']}, {'kind': 'ReLU', "
           "'name': 'r'}, {'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'padding': 'same', 'name': 'c'}, {'kind': "
           "'Add', 'inputs': ['c', 'r']}, {'kind': 'ReLU'}, {'kind': 'MaxPool2D'}, " +
           head,
       4, 4},
      {"addTwice",
       input("6") + "{'kind': 'Dense', 'units': 5, 'name': 'a'}, {'kind': 'Add', 'inputs': ['a', 'a'], 'name': 's'}, "
                    "{'kind': 'Dropout', 'rate': 0.3, 'name': 'd'}, {'kind': 'Dense', 'units': 5, 'name': 'b', "
                    "'inputs': ['a'], 'activation': 'relu'}, {'kind': 'Add', 'inputs': ['b', 'd', 's']}, {'kind': "
                    "'ReLU'}, {'kind': 'Dense', 'units': 3}]"},
      {"addThree", input("6") + "{'kind': 'Dense', 'units': 5, 'name': 'a'}, {'kind': 'Dense', 'units': 5, 'name': "
                                "'b'}, {'kind': 'Dense', 'units': 5, 'name': 'c', 'inputs': ['a']}, {'kind': 'Add', "
                                "'inputs': ['a', 'b', 'c']}, {'kind': 'Dense', 'units': 3}]"},
      {"multiply",
       input("6") +
           "{'kind': 'Dense', 'units': 5, 'name': 'a'}, {'kind': 'Dense', 'units': 5, 'name': 'b', 'activation': "
           "'sigmoid'}, {'kind': 'Multiply', 'inputs': ['a', 'b', 'a']}, {'kind': 'Dense', 'units': 3}]"},
      {"concatenate",
       input("6") + "{'kind': 'Dense', 'units': 5, 'name': 'a'}, {'kind': 'Dense', 'units': 4, 'name': 'b'}, {'kind': "
                    "'Concatenate', 'inputs': ['a', 'b', 'input']}, {'kind': 'Dense', 'units': 3}]"},
      {"concatenateImages",
       input("4, 4, 2") +
           "{'kind': 'Conv2D', 'filters': 8, 'kernelSize': 3, 'padding': 'same', 'name': 'a'}, {'kind': 'Conv2D', "
           "'filters': 3, 'kernelSize': 1, 'name': 'b'}, {'kind': 'Concatenate', 'inputs': ['a', 'b']}, " +
           conv + head},
      {"preActivationBlock",
       input("6, 6, 3") + "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'padding': 'same', 'name': 'stem'}, " +
           norm + relu + "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'padding': 'same', 'name': 'inner'}, " +
           "{'kind': 'Add', 'inputs': ['stem', 'inner']}, " + norm + relu + head,
       4, 4},
      {"sharedDense",
       input("5") + "{'kind': 'Dense', 'units': 5, 'name': 'a', 'activation': 'tanh'}, {'kind': 'Dense', 'units': 5, "
                    "'name': 'b', 'sharedWith': 'a', 'activation': 'relu'}, {'kind': 'Dense', 'units': 5, 'name': 'c', "
                    "'sharedWith': 'a'}, {'kind': 'Dense', 'units': 3}]"},
      {"sharedConv",
       input("5, 5, 2") +
           "{'kind': 'Conv2D', 'filters': 2, 'kernelSize': 3, 'padding': 'same', 'name': 'a'}, {'kind': 'Conv2D', "
           "'filters': 2, 'kernelSize': 3, 'padding': 'same', 'name': 'b', 'sharedWith': 'a'}, " +
           head},
      {"frozenFirst",
       input("5") +
           "{'kind': 'Dense', 'units': 5, 'trainable': false, 'activation': 'relu'}, {'kind': 'Dense', 'units': 3}]"},
      {"frozenInside",
       input("5") + dense + "{'kind': 'Dense', 'units': 5, 'trainable': false}, {'kind': 'Dense', 'units': 3}]"},
      {"embedding", words + head},
      {"lstm", words + "{'kind': 'LSTM', 'units': 4}, {'kind': 'Dense', 'units': 3}]", 4, 4},
      {"lstmMasked", masked + "{'kind': 'LSTM', 'units': 4}, {'kind': 'Dense', 'units': 3}]", 4, 4},
      {"lstmMaskedSequences", masked + "{'kind': 'LSTM', 'units': 4, 'returnSequences': true}, " + head, 4, 5},
      {"lstmOfSteps",
       input("3, 2") +
           "{'kind': 'LSTM', 'units': 3, 'useBias': false, 'goBackwards': true, 'returnSequences': true}, " + head},
      {"lstmTwice",
       masked + "{'kind': 'LSTM', 'units': 3, 'returnSequences': true}, {'kind': 'Dropout', 'rate': 0.2}, {'kind': "
                "'LSTM', 'units': 2}, {'kind': 'Dense', 'units': 3}]",
       4, 4},
      {"lstmBothWays", masked + "{'kind': 'LSTM', 'units': 3, 'bidirectional': true, 'returnSequences': true}, " + head,
       4, 4},
      {"gru", words + "{'kind': 'GRU', 'units': 4}, {'kind': 'Dense', 'units': 3}]", 4, 4},
      {"gruMaskedSequences", masked + "{'kind': 'GRU', 'units': 4, 'returnSequences': true}, " + head, 4, 5},
      {"gruBothWays", masked + "{'kind': 'GRU', 'units': 3, 'bidirectional': true}, {'kind': 'Dense', 'units': 3}]", 4,
       4},
      {"gruWithoutBias",
       input("3, 2") + "{'kind': 'GRU', 'units': 3, 'useBias': false}, {'kind': 'Dense', 'units': 3}]"},
      {"twoInputs",
       "[{'kind': 'Input', 'name': 'left', 'shape': [4]}, {'kind': 'Dense', 'units': 3, 'name': 'a', 'inputs': "
       "['left']}, " +
           std::string("{'kind': 'Input', 'name': 'right', 'shape': [2, 3]}, {'kind': 'Flatten', 'name': 'f', "
                       "'inputs': ['right']}, {'kind': 'Dense', 'units': 3, 'name': 'b', 'inputs': ['f']}, {'kind': "
                       "'Add', 'inputs': ['a', 'b']}, {'kind': 'Dense', 'units': 3}]")},
  };
  for (const char* name : {"leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh", "softplus"}) {
    cases.push_back({name, input("6") + dense + activation(name) + "{'kind': 'Dense', 'units': 3}]"});
  }
  return cases;
}

}  // namespace bloomery::nn
