// LSTM and GRU. ONNX's operators can skip steps only at the end of a sequence, we skip them anywhere: the steps that
// count are gathered at the front, and the outputs are put back behind. A cell that reads backwards gets its steps in
// that order, so that the operator itself always goes forward.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "onnx/LayerNodes.h"

namespace bloomery::onnx {

namespace {

using network::Recurrent;

// Our gates of an LSTM are i f c o, ONNX's i o f c; those of a GRU are z r h for both.
constexpr std::array<size_t, 4> kLstmGates = {0, 3, 1, 2};
constexpr std::array<size_t, 4> kGruGates = {0, 1, 2};

// Which of our gates is this one of ONNX.
size_t gateAt(const Recurrent& layer, size_t gate) {
  return (layer.cell == Recurrent::Cell::kLstm ? kLstmGates : kGruGates)[gate];
}

// [in, gates * units] as [1, gates * units, in].
FloatTensor gateRows(const Recurrent& layer, const TensorView& kernel) {
  size_t units = static_cast<size_t>(layer.units), gates = static_cast<size_t>(layer.numGates());
  size_t inputs = static_cast<size_t>(kernel.shape[0]), width = gates * units;
  FloatTensor result{{1, kernel.shape[1], kernel.shape[0]}, std::vector<float>(inputs * width)};
  for (size_t gate = 0; gate < gates; ++gate) {
    for (size_t unit = 0; unit < units; ++unit) {
      float* row = result.values.data() + (gate * units + unit) * inputs;
      for (size_t input = 0; input < inputs; ++input) {
        row[input] = kernel.data[input * width + gateAt(layer, gate) * units + unit];
      }
    }
  }
  return result;
}

// ONNX has one bias for the input's product and one for the state's; an LSTM of ours has only the first.
FloatTensor gateBiases(const Recurrent& layer, const TensorView& bias) {
  size_t units = static_cast<size_t>(layer.units), gates = static_cast<size_t>(layer.numGates());
  size_t width = gates * units, given = static_cast<size_t>(bias.numElements()) / width;
  FloatTensor result{{1, static_cast<int64_t>(2 * width)}, std::vector<float>(2 * width, 0.0f)};
  for (size_t part = 0; part < given; ++part) {
    for (size_t gate = 0; gate < gates; ++gate) {
      std::copy_n(bias.data + part * width + gateAt(layer, gate) * units, units,
                  result.values.data() + part * width + gate * units);
    }
  }
  return result;
}

// One direction of a layer.
class Cell {
 public:
  Cell(const Recurrent& layer, const Site& site, bool backwards, size_t firstParameter)
      : layer_(layer), site_(site), backwards_(backwards), first_(firstParameter) {}

  // [batch, steps, units] in the order of reading, or [batch, units].
  std::string write() {
    std::string steps = site_.input(Order::kChannelsLast);
    std::string mask = site_.inputs[0]->mask;
    if (backwards_) steps = reversed(steps);
    if (!mask.empty()) {
      if (backwards_) mask = reversed(mask);
      kept_ = cast(mask, ElementType::kInt64);
      steps = taken(steps, placesOfKept());
      counts_ = site_.add("ReduceSum", {kept_, axis(1)}, {{"keepdims", int64_t{0}}});
    }
    Names outputs = run(swapped(steps));
    return layer_.returnSequences ? allSteps(outputs[0]) : lastStep(outputs[1]);
  }

  // The steps of [batch, steps, ...] from the last to the first.
  std::string reversed(const std::string& value) {
    return site_.add(
        "Slice", {value, site_.integers("last", {-1}), site_.integers("first", {std::numeric_limits<int32_t>::min()}),
                  axis(1), site_.integers("backwards", {-1})});
  }

 private:
  std::string cast(const std::string& value, ElementType type) {
    return site_.add("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
  }
  std::string axis(int64_t index) { return site_.integers("axis", {index}); }
  std::string integer(const char* name, int64_t value) {
    return site_.model.addInteger(site_.node.name + "/" + name, value);
  }
  // [batch, steps, ...] as [steps, batch, ...] and back.
  std::string swapped(const std::string& value) {
    return site_.add("Transpose", {value}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  }
  // Of each row the steps at these places [batch, steps].
  std::string taken(const std::string& steps, const std::string& places) {
    return site_.add("GatherND", {steps, site_.add("Unsqueeze", {places, axis(2)})}, {{"batch_dims", int64_t{1}}});
  }

  // The places of the steps that count, in their order, and behind them those of the others: largest first of
  // kept * steps - place.
  std::string placesOfKept() {
    int64_t steps = site_.node.input[0];
    std::vector<int64_t> places(static_cast<size_t>(steps));
    std::iota(places.begin(), places.end(), 0);
    std::string front = site_.add("Mul", {kept_, integer("steps", steps)});
    std::string keys = site_.add("Sub", {front, site_.integers("places", places)});
    return site_.model.addSeveral(site_.node.name, "TopK", {keys, site_.integers("count", {steps})}, 2,
                                  {{"axis", int64_t{1}}, {"largest", int64_t{1}}, {"sorted", int64_t{1}}})[1];
  }

  // The operator's outputs: those of all steps [steps, 1, batch, units], and that of the last [1, batch, units].
  Names run(const std::string& steps) {
    auto rows = [this](const TensorView& kernel) { return gateRows(layer_, kernel); };
    auto biases = [this](const TensorView& bias) { return gateBiases(layer_, bias); };
    Names inputs = {steps, site_.parameter(first_, rows), site_.parameter(first_ + 1, rows)};
    inputs.push_back(layer_.useBias ? site_.parameter(first_ + 2, biases) : "");
    // A row without any step goes through one, and its output becomes zero behind.
    if (!kept_.empty()) {
      inputs.push_back(cast(site_.add("Max", {counts_, integer("one", 1)}), ElementType::kInt32));
    }
    bool lstm = layer_.cell == Recurrent::Cell::kLstm;
    Attributes attributes = {{"hidden_size", layer_.units}};
    if (!lstm) attributes.push_back({"linear_before_reset", int64_t{1}});
    return site_.model.addSeveral(site_.node.name, lstm ? "LSTM" : "GRU", inputs, 2, attributes);
  }

  // Zero where a number [batch, ...] is zero.
  std::string whereAny(const std::string& value, const std::string& numbers, int64_t lastAxis) {
    std::string any = cast(site_.add("Greater", {numbers, integer("none", 0)}), ElementType::kFloat);
    return site_.add("Mul", {value, site_.add("Unsqueeze", {any, axis(lastAxis)})});
  }

  std::string lastStep(const std::string& output) {
    std::string last = site_.add("Squeeze", {output, axis(0)});
    return kept_.empty() ? last : whereAny(last, counts_, 1);
  }

  // A skipped step repeats the one before, or is zero where there is none.
  std::string allSteps(const std::string& output) {
    std::string all = swapped(site_.add("Squeeze", {output, axis(1)}));
    if (kept_.empty()) return all;
    std::string seen = site_.add("CumSum", {kept_, integer("axis", 1)});
    std::string before = site_.add("Sub", {seen, integer("one", 1)});
    return whereAny(taken(all, site_.add("Max", {before, integer("none", 0)})), seen, 2);
  }

  const Recurrent& layer_;
  const Site& site_;
  bool backwards_;
  size_t first_;
  std::string kept_, counts_;  // 1 for each step that counts [batch, steps], their number [batch]; empty: all count
};

}  // namespace

Edge writeRecurrent(const Recurrent& layer, const Site& site) {
  std::string value = Cell(layer, site, layer.goBackwards, 0).write();
  if (layer.bidirectional) {
    Cell second(layer, site, true, layer.useBias ? 3 : 2);
    std::string other = second.write();
    if (layer.returnSequences) other = second.reversed(other);
    value = site.add("Concat", {value, other}, {{"axis", int64_t{-1}}});
  }
  return site.edge(Order::kChannelsLast, value);
}

}  // namespace bloomery::onnx
