// A validated network: its layers in the order they run, with shapes, parameters and estimates. Made once from the
// network JSON (docs/network-json.md) and never changed. Knows no kernels and no data.
#pragma once

#include <string>
#include <vector>

#include "network/Layers.h"

namespace bloomery::network {

struct Node {
  std::string name;
  Layer layer;
  Shape input;   // without the batch
  Shape output;  // without the batch
  size_t firstParameter = 0;
  size_t numParameters = 0;  // entries of the parameter table
  bool implicit = false;     // made from another layer's `activation`, not written by the user
};

class Graph {
 public:
  static Graph fromJson(const Json& json);

  const std::string& name() const { return name_; }
  // nodes()[0] is the input; each node takes the output of the one before. A softmax activation is a node of its own,
  // so Conv2D and Dense carry only linear or relu.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Input& input() const { return std::get<Input>(nodes_.front().layer); }
  const Shape& outputShape() const { return nodes_.back().output; }
  bool endsInSoftmax() const;
  // The layer, as the user named it, that gives the output.
  const std::string& outputLayer() const;

  const ParameterTable& parameters() const { return parameters_; }
  int64_t flopsPerSample() const;

 private:
  void add(const std::string& name, Layer layer, bool implicit);

  std::string name_;
  std::vector<Node> nodes_;
  ParameterTable parameters_;
};

}  // namespace bloomery::network
