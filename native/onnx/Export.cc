#include "onnx/Export.h"

#include "onnx/LayerNodes.h"

namespace bloomery::onnx {

namespace {

// The mark of steps to skip goes on as in a plan: of several inputs the first that has one.
std::string maskBehind(const network::Node& node, const Edge& edge, const std::vector<Edge*>& inputs) {
  if (std::holds_alternative<network::Embedding>(node.layer)) return edge.mask;
  if (!network::keepsSteps(node.layer)) return "";
  for (const Edge* input : inputs) {
    if (!input->mask.empty()) return input->mask;
  }
  return "";
}

}  // namespace

std::string exportNetwork(const network::Graph& graph, const Arena& parameters) {
  ModelBuilder model(graph.name());
  Constants constants(graph, parameters);
  const std::vector<network::Node>& nodes = graph.nodes();
  std::vector<std::string> given(nodes.size());
  for (size_t index : graph.inputs()) {
    const auto& input = std::get<network::Input>(nodes[index].layer);
    given[index] = model.addInput(nodes[index].name, input.dtype, input.shape);
  }
  Names outputs;
  for (const network::Output& output : graph.outputs()) outputs.push_back(model.addOutput(output.name, output.shape));

  std::vector<Edge> edges(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Site site{nodes[i], {}, constants, model};
    for (size_t input : nodes[i].inputs) site.inputs.push_back(&edges[input]);
    auto* input = std::get_if<network::Input>(&nodes[i].layer);
    Edge edge = input == nullptr ? writeLayer(nodes[i].layer, site) : writeInput(*input, given[i], site);
    edge.mask = maskBehind(nodes[i], edge, site.inputs);
    edges[i] = std::move(edge);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t last = graph.outputs()[i].last;
    model.addInto(outputs[i], "Identity", {inOrder(edges[last], Order::kChannelsLast, nodes[last].name, model)});
  }
  return model.finish();
}

}  // namespace bloomery::onnx
