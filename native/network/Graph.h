// A validated network: its layers in an order in which they can run, with shapes, parameters and estimates. Made once
// from the network JSON (docs/network-json.md) and never changed. Knows no kernels and no data.
#pragma once

#include <string>
#include <vector>

#include "network/Layers.h"

namespace bloomery::network {

struct Node {
  std::string name;
  std::string kind;  // as the user wrote it: "MaxPool2D"
  Layer layer;
  std::vector<size_t> inputs;  // indices of the nodes whose outputs it takes, all before it
  Shape input = {};            // of the first of them, without the batch
  Shape output = {};           // without the batch
  size_t firstParameter = 0;
  size_t numParameters = 0;  // entries of the parameter table; those of another node when it shares them
  bool implicit = false;     // made from another layer's `activation`, not written by the user
  bool trainable = true;
};

// What leaves the network. A softmax or sigmoid at the end is left to the loss, which knows a better way than one after
// the other; `node` is the last one before it.
struct Output {
  std::string name;  // the layer, as the user named it
  size_t node = 0;
  size_t last = 0;  // the softmax or sigmoid, or `node` itself
  Shape shape;
  Function tail = Function::kLinear;  // kSoftmax, kSigmoid or kLinear
};

class Graph {
 public:
  static Graph fromJson(const Json& json);

  const std::string& name() const { return name_; }
  // An activation that is not part of a kernel is a node of its own, so convolutions and Dense carry only linear or
  // relu.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<size_t>& inputs() const { return inputs_; }  // the Input nodes, as declared
  const std::vector<Output>& outputs() const { return outputs_; }
  const Input& input(size_t index = 0) const { return std::get<Input>(nodes_[inputs_[index]].layer); }
  // Above 0: the values of this input are indices of an Embedding, whole numbers from 0 to below the limit.
  int64_t indexLimit(size_t input) const;

  // Of the only output, for whoever knows just one.
  const Shape& outputShape() const { return outputs_.front().shape; }
  bool endsInSoftmax() const { return outputs_.front().tail == Function::kSoftmax; }
  const std::string& outputLayer() const { return outputs_.front().name; }

  // A layer's statistics span the batches of all workers.
  bool synchronizesStatistics() const;
  // The Normalization layers, each directly behind an Input, whose statistics the rows of training tell.
  std::vector<size_t> measuredNodes() const;

  // A ResourceError that names the layer whose output for so many rows is more than kernels can count.
  void checkBatchSize(int64_t batchSize) const;
  int64_t largestBatchSize() const;  // that checkBatchSize takes

  const ParameterTable& parameters() const { return parameters_; }
  int64_t flopsPerSample() const;

 private:
  friend class GraphReader;

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<size_t> inputs_;
  std::vector<Output> outputs_;
  ParameterTable parameters_;
};

}  // namespace bloomery::network
