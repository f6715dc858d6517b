#include "train/Head.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"

namespace bloomery::train {

namespace {

using network::Function;
using network::Output;

std::vector<std::string> namesOf(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  for (const Output& output : outputs) names.push_back(output.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Refuses keys that are no output.
void checkOutputs(const char* option, const Json& byOutput, const std::vector<Output>& outputs) {
  auto names = namesOf(outputs);
  for (const auto& item : byOutput.items()) {
    if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
    throw UserError(message(unknownName("output", item.key(), names), ", in ", option));
  }
}

// One sigmoid decides between two classes.
const char* defaultLossOf(const Output& output) {
  bool isBinary = output.tail == Function::kSigmoid && output.shape.numElements() == 1;
  return isBinary ? kDefaultBinaryLoss : kDefaultLoss;
}

// By output, though one of them may be called "kind", which a loss has, too.
bool isOneLoss(const Json& loss, const std::vector<Output>& outputs) {
  if (!loss.is_object()) return true;
  auto isNamed = [&](const Output& any) { return loss.contains(any.name); };
  return loss.contains("kind") && !std::all_of(outputs.begin(), outputs.end(), isNamed);
}

nn::LossSpec readLoss(const Json& loss, const Output& output, const std::vector<Output>& outputs) {
  if (isOneLoss(loss, outputs)) return nn::readLoss(loss);
  checkOutputs("loss", loss, outputs);
  if (!loss.contains(output.name)) {
    throw UserError(
        message("No loss for output: ", output.name, ", give each of them one: ", joined(namesOf(outputs))));
  }
  return nn::readLoss(loss.at(output.name));
}

double weightOf(const Json& json, const char* what) {
  double weight = json.is_number() ? json.get<double>() : NAN;
  if (!(weight >= 0 && std::isfinite(static_cast<float>(weight)))) {
    throw UserError(message("Not a finite number of at least 0: ", what, " ", json.dump()));
  }
  return weight;
}

double readLossWeight(const Json& weights, size_t index, const std::vector<Output>& outputs) {
  if (weights.is_array()) {
    if (weights.size() != outputs.size()) {
      throw UserError(message("Wrong number of lossWeights: ", weights.size(), ", outputs: ", outputs.size()));
    }
    return weightOf(weights[index], "loss weight");
  }
  if (!weights.is_object()) {
    throw UserError(message("Wrong value for lossWeights: ", weights.dump(), ", wanted {output: weight} or a list"));
  }
  checkOutputs("lossWeights", weights, outputs);
  return weights.contains(outputs[index].name) ? weightOf(weights.at(outputs[index].name), "loss weight") : 1.0;
}

// {"0": 1.0, "3": 2.5}, where classes that are not named weigh 1, or a list with one weight for each class.
std::vector<float> readClassWeights(const Json& weights, const Output& output) {
  if (output.shape.rank() != 1) {
    throw UserError(
        message("Class weights need one class a row, layer '", output.name, "' gives ", output.shape.toString()));
  }
  size_t classes = static_cast<size_t>(std::max<int64_t>(2, output.shape[0]));
  std::vector<float> result(classes, 1.0f);
  if (weights.is_array()) {
    if (weights.size() != classes) {
      throw UserError(message("Wrong number of classWeights: ", weights.size(), ", classes: ", classes));
    }
    for (size_t i = 0; i < classes; ++i) result[i] = static_cast<float>(weightOf(weights[i], "class weight"));
    return result;
  }
  if (!weights.is_object()) {
    throw UserError(message("Wrong value for classWeights: ", weights.dump(), ", wanted {class: weight} or a list"));
  }
  for (const auto& item : weights.items()) {
    size_t label = classes;
    const std::string& key = item.key();
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), label);
    if (error != std::errc() || end != key.data() + key.size() || label >= classes) {
      throw UserError(message("Class out of range: ", key, ", classes: ", classes, ", in classWeights"));
    }
    result[label] = static_cast<float>(weightOf(item.value(), "class weight"));
  }
  return result;
}

// By output when a key is the name of one.
const Json* classWeightsOf(const Json& weights, const Output& output, const std::vector<Output>& outputs) {
  auto isOutput = [&](const Output& any) { return weights.is_object() && weights.contains(any.name); };
  if (std::any_of(outputs.begin(), outputs.end(), isOutput)) {
    checkOutputs("classWeights", weights, outputs);
    return isOutput(output) ? &weights.at(output.name) : nullptr;
  }
  if (outputs.size() > 1) {
    throw UserError(message("Class weights of several outputs are given by output: ", joined(namesOf(outputs))));
  }
  return &weights;
}

std::vector<nn::MetricSpec> readMetrics(const Json& metrics, const Output& output, const std::vector<Output>& outputs) {
  const Json* own = &metrics;
  if (metrics.is_object()) {
    checkOutputs("metrics", metrics, outputs);
    if (!metrics.contains(output.name)) return {};
    own = &metrics.at(output.name);
  }
  if (!own->is_array()) {
    throw UserError(
        message("Wrong value for metrics of training: ", own->dump(), ", wanted a list, or {output: list}"));
  }
  std::vector<nn::MetricSpec> result;
  std::set<std::string> names;
  for (const Json& metric : *own) {
    result.push_back(nn::readMetric(metric));
    if (!names.insert(result.back().name).second) {
      throw UserError(message("Two metrics have the same name: ", result.back().name));
    }
  }
  return result;
}

}  // namespace

data::TargetRule Head::targetRule() const {
  bool sparse = std::holds_alternative<nn::SparseCategoricalCrossentropy>(loss);
  bool entropy = sparse || std::holds_alternative<nn::CategoricalCrossentropy>(loss) ||
                 std::holds_alternative<nn::BinaryCrossentropy>(loss);
  return {.shape = output.shape,
          .takesClass = output.shape.rank() == 1 && output.shape[0] > 1,
          .takesValues = !sparse,
          .probabilities = entropy};
}

data::TargetFormat Head::targetFormat() const { return {output.shape.numElements(), targetRule().takesClass}; }

std::vector<Head> readHeads(JsonReader& training, const std::vector<Output>& outputs) {
  std::vector<Head> heads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    const Json loss = training.has("loss") ? training.value("loss") : Json(defaultLossOf(output));
    Head head{output, readLoss(loss, output, outputs), 1, {}, {}};
    nn::checkFits(head.loss, output);
    if (training.has("lossWeights")) head.lossWeight = readLossWeight(training.value("lossWeights"), i, outputs);
    if (training.has("classWeights")) {
      const Json* weights = classWeightsOf(training.value("classWeights"), output, outputs);
      if (weights != nullptr) head.classWeights = readClassWeights(*weights, output);
    }
    if (training.has("metrics")) {
      head.metrics = readMetrics(training.value("metrics"), output, outputs);
    } else if (head.prediction() != Function::kLinear) {
      head.metrics = {nn::readMetric("accuracy")};
    }
    for (const nn::MetricSpec& metric : head.metrics) {
      nn::makeMetric(metric, head.prediction(), output.shape, output.name);
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

void writeHeads(const std::vector<Head>& heads, Json& training) {
  Json losses, weights, classWeights, metrics;
  for (const Head& head : heads) {
    const std::string& name = head.output.name;
    losses[name] = nn::toJson(head.loss);
    weights[name] = head.lossWeight;
    if (!head.classWeights.empty()) classWeights[name] = head.classWeights;
    metrics[name] = Json::array();
    for (const nn::MetricSpec& metric : head.metrics) metrics[name].push_back(nn::toJson(metric));
  }
  bool one = heads.size() == 1;
  training["loss"] = one ? losses.front() : losses;
  if (!one) training["lossWeights"] = weights;
  if (!classWeights.empty()) training["classWeights"] = one ? classWeights.front() : classWeights;
  training["metrics"] = one ? metrics.front() : metrics;
}

}  // namespace bloomery::train
