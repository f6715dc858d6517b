#include "nn/Profile.h"

namespace bloomery::nn {

namespace {

int64_t parameterValues(const network::Graph& graph, const network::Node& node) {
  int64_t sum = 0;
  for (size_t i = 0; i < node.numParameters; ++i) {
    sum += graph.parameters().parameters()[node.firstParameter + i].shape.numElements();
  }
  return sum;
}

// Whether the layer has gradients to hand to those before it: behind the first trained parameters.
std::vector<bool> handGradients(const network::Graph& graph) {
  std::vector<bool> trained(graph.nodes().size(), false), hands(graph.nodes().size(), false);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const network::Node& node = graph.nodes()[i];
    for (size_t input : node.inputs) hands[i] = hands[i] || trained[input];
    trained[i] = hands[i] || (node.trainable && node.numParameters > 0);
  }
  return hands;
}

}  // namespace

void Profile::open(const network::Graph& graph, int64_t batchSize, bool training) {
  if (!layers.empty()) return;
  constexpr double kValueBytes = sizeof(float);
  std::vector<bool> hands = handGradients(graph);
  double rows = static_cast<double>(batchSize);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const network::Node& node = graph.nodes()[i];
    double inputs = 0, outputs = rows * static_cast<double>(node.output.numElements());
    for (size_t input : node.inputs) inputs += rows * static_cast<double>(graph.nodes()[input].output.numElements());
    double parameters = static_cast<double>(parameterValues(graph, node));
    double operations = rows * static_cast<double>(network::flopsOf(node.layer, node.input, node.output));
    LayerTimes layer{node.name, node.kind};
    layer.forward = {operations, kValueBytes * (inputs + outputs + parameters)};
    layer.forwardSpan = node.name + " forward";
    layer.backwardSpan = node.name + " backward";
    bool trains = node.trainable && parameters > 0;
    if (training && (trains || hands[i])) {
      double values = outputs;                      // the gradient that comes from behind
      if (trains) values += inputs + parameters;    // values in, gradients of the parameters out
      if (hands[i]) values += inputs + parameters;  // the gradient that goes on, by way of the parameters
      layer.backward = {operations * ((trains ? 1 : 0) + (hands[i] ? 1 : 0)), kValueBytes * values};
    }
    layers.push_back(std::move(layer));
  }
}

}  // namespace bloomery::nn
