#include "network/Graph.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery::network {

namespace {

constexpr int64_t kVersion = 1;

// Conv2D -> conv2d, MaxPool2D -> max_pool2d, ReLU -> relu: Keras's names.
std::string snakeCase(const std::string& kind) {
  std::string name;
  for (size_t i = 0; i < kind.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(kind[i]);
    bool startsWord = i > 0 && std::isupper(c) && std::islower(static_cast<unsigned char>(kind[i - 1]));
    bool isDimension = c == 'D' && std::isdigit(static_cast<unsigned char>(kind[i - 1 + (i == 0)]));
    if (startsWord && !isDimension && kind != "ReLU") name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

std::string uniqueName(const std::string& kind, const std::set<std::string>& taken) {
  std::string base = snakeCase(kind), name = base;
  for (int n = 1; taken.contains(name); ++n) name = base + "_" + std::to_string(n);
  return name;
}

// A Conv2D or Dense with softmax or sigmoid becomes the linear layer and an activation of its own.
Function takeTail(Layer& layer) {
  auto take = [](auto& any) {
    bool isTail = any.activation == Function::kSoftmax || any.activation == Function::kSigmoid;
    return isTail ? std::exchange(any.activation, Function::kLinear) : Function::kLinear;
  };
  if (auto* conv = std::get_if<Conv2D>(&layer)) return take(*conv);
  if (auto* dense = std::get_if<Dense>(&layer)) return take(*dense);
  return Function::kLinear;
}

}  // namespace

void Graph::add(const std::string& name, Layer layer, bool implicit) {
  Node node{name, std::move(layer), {}, {}, parameters_.parameters().size(), 0, implicit};
  if (!nodes_.empty()) node.input = nodes_.back().output;
  try {
    node.output = declare(node.layer, name, node.input, parameters_);
  } catch (const UserError& error) {
    throw UserError(message("Shapes do not fit: layer '", name, "' (", kindOf(node.layer), ") after layer '",
                            nodes_.back().name, "' with output ", node.input.toString(), ": ", error.what()));
  }
  node.numParameters = parameters_.parameters().size() - node.firstParameter;
  nodes_.push_back(std::move(node));
}

Graph Graph::fromJson(const Json& json) {
  JsonReader reader(json, "network");
  if (reader.text("format", "bloomery-network") != "bloomery-network") {
    throw UserError(message("Not a Bloomery network: format ", json.at("format").dump()));
  }
  int64_t version = reader.integer("version", kVersion);
  if (version != kVersion) {
    throw UserError(message("Unknown version of the network format: ", version, ", known: ", kVersion));
  }
  Graph graph;
  graph.name_ = reader.text("name", "network");
  const Json& layers = reader.value("layers");
  reader.finish();
  if (!layers.is_array() || layers.empty())
    throw UserError("Network has no layers: give at least an Input and one more");

  std::set<std::string> names;
  for (size_t i = 0; i < layers.size(); ++i) {
    JsonReader unnamed(layers[i], message("layer ", i));
    std::string kind = unnamed.text("kind");
    std::string name = unnamed.has("name") ? unnamed.text("name") : uniqueName(kind, names);
    JsonReader options(layers[i], message("layer '", name, "' (", kind, ")"));
    options.text("kind");
    options.text("name", "");
    if (!names.insert(name).second) throw UserError(message("Two layers have the same name: ", name));
    Layer layer = readLayer(kind, options);
    bool isInput = std::holds_alternative<Input>(layer);
    if (isInput != (i == 0)) {
      throw UserError(
          isInput ? message("Input must be the first layer and stand once: layer '", name, "' is number ", i + 1)
                  : message("First layer must be an Input: found '", name, "' (", kind, ")"));
    }
    std::vector<std::string> inputs = options.texts("inputs", {});
    options.finish();
    if (isInput && !inputs.empty()) throw UserError(message("Input takes no inputs: layer '", name, "'"));
    if (!isInput && !inputs.empty() && (inputs.size() != 1 || inputs[0] != graph.nodes_.back().name)) {
      throw UserError(message("Layer '", name, "' takes the output of the layer before it, '", graph.nodes_.back().name,
                              "', found inputs ", layers[i].at("inputs").dump()));
    }
    Function tail = takeTail(layer);
    graph.add(name, std::move(layer), false);
    if (tail != Function::kLinear) graph.add(name + "/" + nameOf(tail), Activation{tail}, true);
  }
  if (graph.nodes_.size() == 1) throw UserError("Network has only an Input: add at least one layer");
  graph.inputs_ = {0};
  graph.outputs_ = {graph.nodes_.size() - 1};
  auto* last = std::get_if<Activation>(&graph.nodes_.back().layer);
  bool hasTail = last != nullptr && (last->function == Function::kSoftmax || last->function == Function::kSigmoid);
  graph.outputHeads_ = {{graph.outputLayer(), graph.outputShape(), hasTail ? last->function : Function::kLinear}};
  return graph;
}

bool Graph::endsInSoftmax() const {
  auto* last = std::get_if<Activation>(&nodes_.back().layer);
  return last != nullptr && last->function == Function::kSoftmax;
}

const std::string& Graph::outputLayer() const {
  auto visible = std::find_if(nodes_.rbegin(), nodes_.rend(), [](const Node& node) { return !node.implicit; });
  return visible->name;
}

int64_t Graph::flopsPerSample() const {
  int64_t sum = 0;
  for (const Node& node : nodes_) sum += flopsOf(node.layer, node.input, node.output);
  return sum;
}

}  // namespace bloomery::network
