// Networks for the tests, as the builders write them.
#pragma once

#include <algorithm>
#include <string>

#include "base/JsonValue.h"
#include "network/Graph.h"

namespace bloomery::network {

inline const std::string kMnistCnn = R"({"format": "bloomery-network", "version": 1, "name": "mnist-cnn", "layers": [
  {"kind": "Input", "name": "input", "shape": [28, 28, 1], "dtype": "uint8", "scale": 0.00392156862745098},
  {"kind": "Conv2D", "filters": 32, "kernelSize": [3, 3], "activation": "relu"},
  {"kind": "Conv2D", "filters": 64, "kernelSize": 3, "activation": "relu"},
  {"kind": "MaxPool2D", "poolSize": 2},
  {"kind": "Dropout", "rate": 0.25},
  {"kind": "Flatten"},
  {"kind": "Dense", "units": 128, "activation": "relu"},
  {"kind": "Dropout", "rate": 0.5},
  {"kind": "Dense", "units": 10, "activation": "softmax"}]})";

inline Graph graphOf(const std::string& json) { return Graph::fromJson(parseJson(json, "network")); }

// A network of an Input of this shape and then these layers.
inline std::string networkOf(const std::string& shape, const std::string& layers) {
  return R"({"layers": [{"kind": "Input", "shape": )" + shape + "}, " + layers + "]}";
}

// The name of a network as GoogleTest takes it.
inline std::string testName(std::string network) {
  std::replace(network.begin(), network.end(), '-', '_');
  return network;
}

}  // namespace bloomery::network
