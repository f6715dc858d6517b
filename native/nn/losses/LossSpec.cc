#include <cmath>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "nn/Loss.h"

namespace bloomery::nn {

namespace {

using network::Function;
using network::Output;

template <typename Spec>
Spec readEntropy(Spec spec, JsonReader& options) {
  spec.labelSmoothing = options.number("labelSmoothing", spec.labelSmoothing);
  if (!(spec.labelSmoothing >= 0 && spec.labelSmoothing < 1)) {
    throw UserError(message("Outside 0 <= labelSmoothing < 1: ", spec.labelSmoothing, ", in ", options.where()));
  }
  spec.fromLogits = options.boolean("fromLogits", spec.fromLogits);
  return spec;
}

LossSpec readOptions(CategoricalCrossentropy spec, JsonReader& options) { return readEntropy(spec, options); }
LossSpec readOptions(SparseCategoricalCrossentropy spec, JsonReader& options) { return readEntropy(spec, options); }
LossSpec readOptions(BinaryCrossentropy spec, JsonReader& options) { return readEntropy(spec, options); }
LossSpec readOptions(MeanSquaredError spec, JsonReader&) { return spec; }
LossSpec readOptions(MeanAbsoluteError spec, JsonReader&) { return spec; }

LossSpec readOptions(Huber spec, JsonReader& options) {
  spec.delta = options.number("delta", spec.delta);
  if (!(spec.delta > 0 && std::isfinite(spec.delta))) {
    throw UserError(message("Not positive: delta ", spec.delta, ", in ", options.where()));
  }
  return spec;
}

template <typename Spec>
Json optionsOf(const Spec& spec) {
  if constexpr (requires { spec.fromLogits; }) {
    return {{"labelSmoothing", spec.labelSmoothing}, {"fromLogits", spec.fromLogits}};
  } else if constexpr (requires { spec.delta; }) {
    return {{"delta", spec.delta}};
  } else {
    return Json::object();
  }
}

// The alternatives of the variant in turn, so that a new loss needs no entry here.
template <size_t index = 0>
LossSpec readKind(const std::string& kind, JsonReader& options, std::vector<std::string> known = {}) {
  if constexpr (index == std::variant_size_v<LossSpec>) {
    throw UserError(unknownName("loss", kind, known));
  } else {
    using Spec = std::variant_alternative_t<index, LossSpec>;
    for (const char* name : Spec::kNames) {
      if (kind == name) return readOptions(Spec{}, options);
      known.push_back(name);
    }
    return readKind<index + 1>(kind, options, std::move(known));
  }
}

// A cross-entropy wants probabilities, or logits and to be told so.
void checkEntropy(const std::string& name, bool fromLogits, const char* tailName, const Output& output) {
  if (fromLogits && output.tail != Function::kLinear) {
    throw UserError(message("Loss ", name, " has fromLogits, but layer '", output.name, "' ends in a ",
                            network::nameOf(output.tail), ": drop one of the two"));
  }
  if (!fromLogits && output.tail == Function::kLinear) {
    throw UserError(message("Loss ", name, " needs a ", tailName, " output: set activation=\"", tailName,
                            "\" on layer '", output.name, "', or fromLogits on the loss"));
  }
}

template <typename Spec>
void checkOutput(const Spec& spec, const Output& output) {
  if constexpr (std::is_same_v<Spec, BinaryCrossentropy>) {
    checkEntropy(nameOf(spec), spec.fromLogits, "sigmoid", output);
  } else if constexpr (requires { spec.fromLogits; }) {
    if (std::is_same_v<Spec, SparseCategoricalCrossentropy> && output.shape.rank() != 1) {
      throw UserError(message("Output has the wrong shape for ", nameOf(spec), ": layer '", output.name, "' gives ",
                              output.shape.toString(), ", wanted (classes,): add a Flatten and a Dense"));
    }
    if (output.shape.extents().back() < 2) {
      throw UserError(message("Loss ", nameOf(spec), " needs at least two classes: layer '", output.name, "' gives ",
                              output.shape.toString(),
                              ", use binary_crossentropy with a sigmoid, or mean_squared_error for a value"));
    }
    checkEntropy(nameOf(spec), spec.fromLogits, "softmax", output);
  }
}

}  // namespace

LossSpec readLoss(const Json& json) {
  Json object = json.is_string() ? Json{{"kind", json}} : json;
  JsonReader unnamed(object, "loss");
  std::string kind = unnamed.text("kind");
  JsonReader options(object, message("loss '", kind, "'"));
  options.text("kind");
  LossSpec spec = readKind(kind, options);
  options.finish();
  return spec;
}

Json toJson(const LossSpec& spec) {
  return std::visit(
      [](const auto& any) {
        Json json = {{"kind", any.kNames[0]}};
        json.update(optionsOf(any));
        return json;
      },
      spec);
}

std::string nameOf(const LossSpec& spec) {
  return std::visit([](const auto& any) { return std::string(any.kNames[0]); }, spec);
}

void checkFits(const LossSpec& spec, const Output& output) {
  std::visit([&](const auto& any) { checkOutput(any, output); }, spec);
}

Function predictionOf(const LossSpec& spec, Function tail) {
  return std::visit(
      [&](const auto& any) {
        if constexpr (requires { any.fromLogits; }) {
          constexpr bool kBinary = std::is_same_v<std::decay_t<decltype(any)>, BinaryCrossentropy>;
          if (any.fromLogits) return kBinary ? Function::kSigmoid : Function::kSoftmax;
        }
        return tail;
      },
      spec);
}

}  // namespace bloomery::nn
