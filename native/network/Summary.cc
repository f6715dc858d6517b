#include "network/Summary.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <vector>

#include "base/JsonValue.h"

namespace bloomery::network {

namespace {

struct Row {
  std::string layer;
  std::string output;
  int64_t parameters = 0;
  int64_t flops = 0;
};

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

int64_t parametersOf(const Graph& graph, const Node& node) {
  int64_t sum = 0;
  for (size_t i = 0; i < node.numParameters; ++i) {
    sum += graph.parameters().parameters()[node.firstParameter + i].shape.numElements();
  }
  return sum;
}

std::string batched(const Shape& shape) {
  std::string text = "(None";
  for (int64_t extent : shape.extents()) text += ", " + std::to_string(extent);
  return text + ")";
}

std::string megabytes(int64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << static_cast<double>(bytes) / (1024.0 * 1024.0) << " MB";
  return text.str();
}

}  // namespace

std::string summaryTable(const Graph& graph) {
  std::vector<Row> rows;
  size_t layerWidth = 12, outputWidth = 12;
  for (const Node& node : graph.nodes()) {
    if (node.implicit) continue;
    rows.push_back({node.name + " (" + node.kind + ")", batched(node.output), parametersOf(graph, node), 0});
    layerWidth = std::max(layerWidth, rows.back().layer.size());
    outputWidth = std::max(outputWidth, rows.back().output.size());
  }
  constexpr int kNumberWidth = 12;
  std::ostringstream text;
  auto line = [&](const std::string& layer, const std::string& output, const std::string& parameters) {
    text << std::left << std::setw(static_cast<int>(layerWidth) + 3) << layer
         << std::setw(static_cast<int>(outputWidth) + 3) << output << std::right << std::setw(kNumberWidth)
         << parameters << "\n";
  };
  std::string rule(layerWidth + outputWidth + 6 + kNumberWidth, '-');
  text << "Network: \"" << graph.name() << "\"\n" << rule << "\n";
  line("Layer (kind)", "Output shape", "Parameters");
  text << rule << "\n";
  for (const Row& row : rows) line(row.layer, row.output, grouped(row.parameters));
  int64_t total = graph.parameters().numValues();
  text << rule << "\nTotal parameters: " << grouped(total) << " (" << megabytes(4 * total) << ")\n"
       << "Trainable parameters: " << grouped(graph.parameters().numTrainableValues()) << "\n";
  return text.str();
}

Json describe(const Graph& graph) {
  Json layers = Json::array();
  for (const Node& node : graph.nodes()) {
    if (node.implicit) continue;
    layers.push_back({{"name", node.name},
                      {"kind", node.kind},
                      {"output", node.output.extents()},
                      {"parameters", parametersOf(graph, node)},
                      {"flops", flopsOf(node.layer, node.input, node.output)}});
  }
  Json inputs = Json::array(), outputs = Json::array();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Input& input = graph.input(i);
    inputs.push_back({{"name", graph.nodes()[graph.inputs()[i]].name},
                      {"shape", input.shape.extents()},
                      {"dtype", bloomery::nameOf(input.dtype)},
                      {"scale", input.scale},
                      {"rowBytes", input.shape.numElements() * static_cast<int64_t>(sizeOf(input.dtype))}});
  }
  for (const Output& output : graph.outputs()) {
    outputs.push_back({{"name", output.name}, {"shape", output.shape.extents()}, {"tail", nameOf(output.tail)}});
    if (output.shape.rank() == 1) outputs.back()["classes"] = output.shape[0];
  }
  return {{"layers", layers},
          {"parameters", graph.parameters().numValues()},
          {"trainableParameters", graph.parameters().numTrainableValues()},
          {"flopsPerSample", graph.flopsPerSample()},
          {"input", inputs[0]},
          {"output", outputs[0]},
          {"inputs", inputs},
          {"outputs", outputs},
          {"summary", summaryTable(graph)}};
}

}  // namespace bloomery::network
