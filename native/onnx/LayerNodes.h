// Each layer kind as operations of ONNX. ONNX wants channels in front of height, width and steps, we have them last: a
// value stays in the order in which it was made, and is transposed only for whoever needs the other one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "network/Graph.h"
#include "onnx/ModelBuilder.h"
#include "tensor/Arena.h"

namespace bloomery::onnx {

enum class Order { kChannelsLast, kChannelsFirst };

// What leaves a layer, by the names of its values; a name is empty until somebody asked for that order.
struct Edge {
  Shape shape = {};  // channels last, without the batch
  Order made = Order::kChannelsLast;
  std::string channelsLast = {}, channelsFirst = {};
  std::string raw = {};   // of an Input: what was given, where floats of it are the same numbers
  std::string mask = {};  // booleans (batch, steps): steps that are not to be skipped; empty: none is
};

struct FloatTensor {
  Shape shape;
  std::vector<float> values;
};

// The parameters as constants of the model. Layers that share them share the constants.
class Constants {
 public:
  Constants(const network::Graph& graph, const Arena& parameters)
      : layout_(graph.parameters().layout()), parameters_(parameters) {}

  TensorView parameter(size_t index) const { return parameters_.view(layout_.slices()[index]); }
  // The constant of a parameter, which `change` may lay out in another way.
  std::string name(size_t index, ModelBuilder& model,
                   const std::function<FloatTensor(const TensorView&)>& change = nullptr);

 private:
  ArenaLayout layout_;
  const Arena& parameters_;
  std::map<size_t, std::string> names_;
};

// Where a layer's operations go, and what it takes.
struct Site {
  const network::Node& node;
  std::vector<Edge*> inputs;
  Constants& constants;
  ModelBuilder& model;

  // The first input, or another, in this order.
  const std::string& input(Order order, size_t index = 0) const;
  std::string add(const std::string& kind, const Names& names, const Attributes& attributes = {}) const {
    return model.add(node.name, kind, names, attributes);
  }
  Edge edge(Order order, std::string name) const;
  std::string parameter(size_t index, const std::function<FloatTensor(const TensorView&)>& change = nullptr) const {
    return constants.name(node.firstParameter + index, model, change);
  }
  // Constants of the layer's own.
  std::string number(const char* name, double value) const;
  std::string integers(const char* name, const std::vector<int64_t>& values) const;
};

// The input as floats, scaled. `given` is the name of the model's input.
Edge writeInput(const network::Input& layer, const std::string& given, const Site& site);
Edge writeLayer(const network::Layer& layer, const Site& site);
Edge writeRecurrent(const network::Recurrent& layer, const Site& site);

// The edge's value in this order, transposed if it has to be.
const std::string& inOrder(Edge& edge, Order order, const std::string& layer, ModelBuilder& model);

}  // namespace bloomery::onnx
