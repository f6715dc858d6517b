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

// One output of a network, as losses and predictors see it.
struct Output {
  std::string name;  // of the layer, as the user named it
  Shape shape;       // without the batch
  Function tail;     // a final softmax or sigmoid, which a plan leaves to the loss; else linear
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

  // Indices of the input nodes, in the order of declaration, and of the nodes that give the outputs.
  const std::vector<size_t>& inputs() const { return inputs_; }
  const std::vector<size_t>& outputs() const { return outputs_; }
  const std::vector<Output>& outputHeads() const { return outputHeads_; }
  // Above 0: this input's values are indices into an Embedding, whole numbers in [0, limit).
  int64_t indexLimit(size_t) const { return 0; }

  const ParameterTable& parameters() const { return parameters_; }
  int64_t flopsPerSample() const;

 private:
  void add(const std::string& name, Layer layer, bool implicit);

  std::string name_;
  std::vector<Node> nodes_;
  ParameterTable parameters_;
  std::vector<size_t> inputs_, outputs_;
  std::vector<Output> outputHeads_;
};

}  // namespace bloomery::network
