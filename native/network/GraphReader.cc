// From JSON to a Graph: names, connections, order, shapes.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "network/Graph.h"

namespace bloomery::network {

namespace {

constexpr int64_t kVersion = 1;
// Ten times the deepest networks that are trained; planning takes time with the square of it.
constexpr size_t kMaxLayers = 10'000;
constexpr int64_t kMaxFlops = 100'000'000'000'000;  // of one layer for one sample: minutes of a processor

// Conv2D -> conv2d, MaxPool2D -> max_pool2d, ReLU -> relu, LSTM -> lstm: Keras's names.
std::string snakeCase(const std::string& kind) {
  std::string name;
  for (size_t i = 0; i < kind.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(kind[i]);
    bool startsWord = i > 0 && std::isupper(c) && std::islower(static_cast<unsigned char>(kind[i - 1]));
    bool isDimension = c == 'D' && std::isdigit(static_cast<unsigned char>(kind[i - 1 + (i == 0)]));
    if (startsWord && !isDimension && kind != "ReLU" && kind != "LeakyReLU") name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name == "leakyrelu" ? "leaky_relu" : name;
}

// `numbers`: the last one given, by name without number.
std::string uniqueName(const std::string& kind, const std::set<std::string>& taken,
                       std::map<std::string, int>& numbers) {
  std::string base = snakeCase(kind), name = base;
  while (taken.contains(name)) name = base + "_" + std::to_string(++numbers[base]);
  return name;
}

// Takes an activation other than ReLU off the layer: it becomes a node of its own.
Function takeActivation(Layer& layer) {
  auto take = [](auto& any) {
    if (any.activation == Function::kLinear || any.activation == Function::kRelu) return Function::kLinear;
    return std::exchange(any.activation, Function::kLinear);
  };
  if (auto* convolution = std::get_if<Convolution>(&layer)) return take(*convolution);
  if (auto* dense = std::get_if<Dense>(&layer)) return take(*dense);
  return Function::kLinear;
}

// A layer as it stands in the JSON.
struct Entry {
  std::string name;
  std::string kind;
  Layer layer;
  std::vector<std::string> inputs;
  std::string sharedWith;
  bool trainable = true;
};

bool isInput(const Entry& entry) { return std::holds_alternative<Input>(entry.layer); }

}  // namespace

class GraphReader {
 public:
  Graph read(const Json& json) {
    JsonReader reader(json, "network");
    if (reader.text("format", "bloomery-network") != "bloomery-network") {
      throw UserError(message("Not a Bloomery network: format ", json.at("format").dump()));
    }
    int64_t version = reader.integer("version", kVersion);
    if (version > kVersion) {
      throw UserError(message("Network format is newer than this engine: version ", version, ", known: ", kVersion,
                              ", use a newer release of Bloomery"));
    }
    if (version != kVersion) {
      throw UserError(message("Unknown version of the network format: ", version, ", known: ", kVersion));
    }
    graph_.name_ = reader.text("name", "network");
    readEntries(reader.value("layers"));
    std::vector<std::string> outputs = reader.texts("outputs", {entries_.back().name});
    reader.finish();
    for (size_t index : order()) add(entries_[index]);
    for (const Entry& entry : entries_) {
      if (isInput(entry)) graph_.inputs_.push_back(nodeOf_.at(entry.name));
    }
    readOutputs(outputs);
    checkAllUsed();
    return std::move(graph_);
  }

 private:
  void readEntries(const Json& layers) {
    if (!layers.is_array() || layers.empty()) {
      throw UserError("Network has no layers: give at least an Input and one more");
    }
    if (layers.size() > kMaxLayers) {
      throw UserError(message("Network has too many layers: ", layers.size(), ", at most ", kMaxLayers));
    }
    std::map<std::string, int> numbers;
    for (size_t i = 0; i < layers.size(); ++i) {
      JsonReader unnamed(layers[i], message("layer ", i));
      std::string kind = unnamed.text("kind");
      std::string name = unnamed.has("name") ? unnamed.text("name") : uniqueName(kind, names_, numbers);
      if (name.empty()) throw UserError(message("Name is empty: layer ", i, " (", kind, ")"));
      JsonReader options(layers[i], message("layer '", name, "' (", kind, ")"));
      options.text("kind");
      options.text("name", "");
      if (!names_.insert(name).second) throw UserError(message("Two layers have the same name: ", name));
      Entry entry{name,
                  kind,
                  readLayer(kind, options),
                  options.texts("inputs", {}),
                  options.text("sharedWith", ""),
                  options.boolean("trainable", true)};
      bool given = options.has("inputs");
      options.finish();
      if (isInput(entry)) {
        if (!entry.inputs.empty()) throw UserError(message("Input takes no inputs: layer '", name, "'"));
      } else if (i == 0) {
        throw UserError(message("First layer must be an Input: found '", name, "' (", kind, ")"));
      } else if (!given) {
        entry.inputs = {entries_.back().name};
      }
      checkNumberOfInputs(entry);
      entries_.push_back(std::move(entry));
    }
    if (std::all_of(entries_.begin(), entries_.end(), isInput)) {
      throw UserError("Network has only an Input: add at least one layer");
    }
    for (const Entry& entry : entries_) {
      for (const std::string& input : entry.inputs) {
        if (names_.contains(input)) continue;
        throw UserError(message(unknownName("layer", input, {names_.begin(), names_.end()}), ", in inputs of layer '",
                                entry.name, "'"));
      }
    }
  }

  static void checkNumberOfInputs(const Entry& entry) {
    bool merges = std::holds_alternative<Merge>(entry.layer);
    size_t count = entry.inputs.size();
    if (isInput(entry) || (merges ? count >= 2 : count == 1)) return;
    throw UserError(message("Layer '", entry.name, "' (", entry.kind, ") takes ",
                            merges ? "two inputs or more" : "one input", ", found ", count));
  }

  // Inputs before those who take them; else as they stand in the JSON.
  std::vector<size_t> order() const {
    std::map<std::string, size_t> indexOf;
    for (size_t i = 0; i < entries_.size(); ++i) indexOf[entries_[i].name] = i;
    enum class Mark { kNew, kOpen, kDone };
    std::vector<Mark> marks(entries_.size(), Mark::kNew);
    std::vector<size_t> result;
    // Own stack: a network may be deeper than the thread's.
    for (size_t start = 0; start < entries_.size(); ++start) {
      std::vector<size_t> open = {start};
      while (!open.empty()) {
        size_t current = open.back();
        if (marks[current] == Mark::kDone) {
          open.pop_back();
          continue;
        }
        marks[current] = Mark::kOpen;
        size_t missing = entries_.size();
        for (const std::string& input : entries_[current].inputs) {
          size_t index = indexOf.at(input);
          if (marks[index] == Mark::kOpen) {
            throw UserError(message("Network has a cycle: layer '", entries_[current].name, "' takes the output of '",
                                    input, "', which depends on it"));
          }
          if (marks[index] == Mark::kNew) missing = std::min(missing, index);
        }
        if (missing < entries_.size()) {
          open.push_back(missing);
        } else {
          marks[current] = Mark::kDone;
          result.push_back(current);
          open.pop_back();
        }
      }
    }
    return result;
  }

  void add(Entry& entry) {
    std::vector<size_t> inputs;
    for (const std::string& input : entry.inputs) inputs.push_back(nodeOf_.at(input));
    Function function = takeActivation(entry.layer);
    addNode({.name = entry.name,
             .kind = entry.kind,
             .layer = std::move(entry.layer),
             .inputs = std::move(inputs),
             .trainable = entry.trainable},
            entry.sharedWith);
    nodeOf_[entry.name] = graph_.nodes_.size() - 1;
    if (function == Function::kLinear) return;
    addNode({.name = entry.name + "/" + nameOf(function),
             .kind = "Activation",
             .layer = Activation{function, defaultSlopeOf(function)},
             .inputs = {graph_.nodes_.size() - 1},
             .implicit = true},
            "");
    nodeOf_[entry.name] = graph_.nodes_.size() - 1;
  }

  void addNode(Node node, const std::string& sharedWith) {
    std::vector<Shape> shapes;
    std::vector<std::string> names;
    for (size_t input : node.inputs) {
      shapes.push_back(graph_.nodes_[input].output);
      names.push_back(message("'", graph_.nodes_[input].name, "' with output ", shapes.back().toString()));
    }
    if (!shapes.empty()) node.input = shapes[0];
    ParameterTable own;
    ParameterTable& table = sharedWith.empty() ? graph_.parameters_ : own;
    node.firstParameter = graph_.parameters_.parameters().size();
    try {
      node.output = declare(node.layer, node.name, shapes, table);
    } catch (const UserError& error) {
      std::string after = names.empty() ? "" : " after layer " + names[0];
      for (size_t i = 1; i < names.size(); ++i) after += " and layer " + names[i];
      throw UserError(
          message("Shapes do not fit: layer '", node.name, "' (", node.kind, ")", after, ": ", error.what()));
    }
    checkFlops(node);
    checkStatistics(node);
    if (sharedWith.empty()) {
      node.numParameters = table.parameters().size() - node.firstParameter;
      checkParameterNames(node);
      for (size_t i = 0; !node.trainable && i < node.numParameters; ++i) table.freeze(node.firstParameter + i);
    } else {
      share(node, sharedWith, own);
    }
    graph_.nodes_.push_back(std::move(node));
  }

  static void checkFlops(const Node& node) {
    int64_t flops = flopsOf(node.layer, node.input, node.output);
    if (flops <= kMaxFlops) return;
    throw UserError(message("Layer '", node.name, "' (", node.kind,
                            ") needs too many operations for one sample: ", flops, ", at most ", kMaxFlops));
  }

  // Rows tell the statistics of what enters the network; further in they would change while it learns.
  void checkStatistics(const Node& node) const {
    auto* normalization = std::get_if<Normalization>(&node.layer);
    if (normalization == nullptr || !normalization->measuresRows()) return;
    const Node& before = graph_.nodes_[node.inputs[0]];
    if (std::holds_alternative<Input>(before.layer)) return;
    throw UserError(message("Layer '", node.name, "' (Normalization) takes its statistics from the rows only directly ",
                            "behind an Input: found behind '", before.name, "' (", before.kind,
                            "), move it there, or give it mean and variance"));
  }

  // A name may look like part of another: the parameters of 'a/backward' and of a bidirectional layer 'a'.
  void checkParameterNames(const Node& node) {
    for (size_t i = 0; i < node.numParameters; ++i) {
      const std::string& name = graph_.parameters_.parameters()[node.firstParameter + i].name;
      if (!parameterNames_.insert(name).second) {
        throw UserError(message("Two parameters have the same name: ", name, ", rename layer '", node.name, "'"));
      }
    }
  }

  void share(Node& node, const std::string& name, const ParameterTable& own) {
    auto owner =
        std::find_if(graph_.nodes_.begin(), graph_.nodes_.end(), [&](const Node& any) { return any.name == name; });
    if (owner == graph_.nodes_.end()) {
      throw UserError(
          message("Layer '", node.name, "' shares the parameters of '", name, "', which is not a layer before it"));
    }
    bool fits = owner->kind == node.kind && owner->numParameters == own.parameters().size();
    for (size_t i = 0; fits && i < own.parameters().size(); ++i) {
      fits = graph_.parameters_.parameters()[owner->firstParameter + i].shape == own.parameters()[i].shape;
    }
    if (std::holds_alternative<BatchNormalization>(node.layer) || std::holds_alternative<Normalization>(node.layer)) {
      throw UserError(message("Layer '", node.name, "' (", node.kind, ") cannot share the parameters of '", name,
                              "': its statistics belong to one place of the network, add a layer of its own"));
    }
    if (!fits) {
      throw UserError(message("Layer '", node.name, "' (", node.kind, ") cannot share the parameters of '", name, "' (",
                              owner->kind, "): kind, options and input shape must be the same"));
    }
    node.firstParameter = owner->firstParameter;
    node.numParameters = owner->numParameters;
    node.trainable = owner->trainable;
  }

  void readOutputs(const std::vector<std::string>& names) {
    if (names.empty()) throw UserError("Network has no outputs: name at least one layer, or leave `outputs` out");
    for (const std::string& name : names) {
      auto found = nodeOf_.find(name);
      if (found == nodeOf_.end())
        throw UserError(message(unknownName("layer", name, {names_.begin(), names_.end()}), ", in outputs"));
      if (std::count(names.begin(), names.end(), name) > 1) throw UserError(message("Output stands twice: ", name));
      graph_.outputs_.push_back(outputOf(name, found->second));
    }
  }

  Output outputOf(const std::string& name, size_t index) const {
    const Node& node = graph_.nodes_[index];
    auto* last = std::get_if<Activation>(&node.layer);
    bool hasTail = last != nullptr && (last->function == Function::kSoftmax || last->function == Function::kSigmoid);
    bool usedElsewhere = std::any_of(graph_.nodes_.begin(), graph_.nodes_.end(), [&](const Node& any) {
      return std::count(any.inputs.begin(), any.inputs.end(), index) > 0;
    });
    if (!hasTail || usedElsewhere) return {name, index, index, node.output, Function::kLinear};
    return {name, node.inputs[0], index, node.output, last->function};
  }

  void checkAllUsed() const {
    std::vector<bool> used(graph_.nodes_.size(), false);
    for (const Output& output : graph_.outputs_) used[nodeOf_.at(output.name)] = true;
    for (size_t i = graph_.nodes_.size(); i > 0; --i) {
      const Node& node = graph_.nodes_[i - 1];
      if (!used[i - 1]) {
        throw UserError(message(
            std::holds_alternative<Input>(node.layer) ? "Input is not used: layer '" : "Layer leads to no output: '",
            node.name, "', connect it, add it to `outputs` or remove it"));
      }
      for (size_t input : node.inputs) used[input] = true;
    }
  }

  Graph graph_;
  std::vector<Entry> entries_;
  std::set<std::string> names_;
  std::set<std::string> parameterNames_;
  std::map<std::string, size_t> nodeOf_;  // the node that gives a layer's output
};

Graph Graph::fromJson(const Json& json) { return GraphReader().read(json); }

}  // namespace bloomery::network
