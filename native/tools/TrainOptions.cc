#include "tools/TrainOptions.h"

#include <charconv>
#include <iomanip>
#include <sstream>
#include <variant>
#include <vector>

#include "base/JsonValue.h"
#include "base/Names.h"
#include "network/Graph.h"
#include "tools/Files.h"
#include "train/Columns.h"
#include "train/TaskSpec.h"

namespace bloomery::tools {

namespace {

struct Option {
  const char* name;
  const char* value;  // how the usage speaks of it; nullptr: a flag
  std::string meaning;
  std::variant<std::string TrainOptions::*, std::optional<int64_t> TrainOptions::*, bool TrainOptions::*> member;
};

std::string byDefault(const std::string& meaning, int64_t value) { return message(meaning, " (", value, ")"); }

std::string defaultOptimizer() {
  Json training = Json::object();
  optim::UpdateSpec().write(training);
  return training.at("optimizer").at("kind").get<std::string>();
}

std::vector<Option> knownOptions() {
  train::TrainSpec training;
  train::WorkerSpec worker;
  using Options = TrainOptions;
  return {
      {"--network", "FILE|JSON", "the network (docs/network-json.md)", &Options::network},
      {"--data", "PATH", "rows to train on: a Parquet file, or a folder of *.parquet", &Options::data},
      {"--validation", "PATH", "rows to validate on after every epoch", &Options::validation},
      {"--features", "COLUMN,..", "one for each input, in the network's order", &Options::features},
      {"--labels", "COLUMN,..", "one for each output, in the network's order", &Options::labels},
      {"--weight", "COLUMN", "a weight for each row", &Options::weight},
      {"--optimizer", "NAME|JSON", "docs/training-json.md (" + defaultOptimizer() + ")", &Options::optimizer},
      {"--learning-rate", "NUMBER|JSON", "of the optimizer: a number or a schedule", &Options::learningRate},
      {"--loss", "NAME|JSON", message("docs/losses.md (", train::kDefaultLoss, ")"), &Options::loss},
      {"--metrics", "NAME,..|JSON", "docs/losses.md", &Options::metrics},
      {"--batch", "N", byDefault("rows of a step", training.batchSize), &Options::batch},
      {"--epochs", "N", byDefault("times through all rows", training.epochs), &Options::epochs},
      {"--threads", "N", byDefault("threads to compute on", worker.threads), &Options::threads},
      {"--seed", "N", byDefault("behind everything random", static_cast<int64_t>(training.seed)), &Options::seed},
      {"--data-memory", "BYTES", "that rows take in memory at most; then they go to disk", &Options::dataMemory},
      {"--spill-folder", "PATH,..", "where they go; nothing stays there", &Options::spillFolder},
      {"--task", "FILE", "a whole task as JSON; the options above change parts of it", &Options::task},
      {"--weights", "FILE", "safetensors to start from", &Options::weights},
      {"--save", "FILE", "where the trained weights go, as safetensors", &Options::save},
      {"--onnx", "FILE", "where the trained network goes, as ONNX", &Options::onnx},
      {"--predictions", "FILE", "where its outputs for the rows of --validation, else --data, go, as safetensors",
       &Options::predictions},
      {"--history", "FILE", "where the numbers of all epochs go, as JSON", &Options::history},
      {"--checkpoint", "FILE", "the state of the training, after each epoch; goes on from it when it is there",
       &Options::checkpoint},
      {"--checkpoint-steps", "N", "instead: after so many steps", &Options::checkpointSteps},
      {"--profile", nullptr, "prints where a step's time went, layer by layer", &Options::profile},
      {"--trace", "FILE", "what each thread did when, as a Chrome trace; with --profile each layer, too",
       &Options::trace},
      {"--describe", nullptr, "prints shapes, parameters and memory, and trains nothing", &Options::describe},
      {"--memory-budget", "BYTES", "with --describe: tells the largest batch whose memory stays within it",
       &Options::memoryBudget},
      {"--help", nullptr, "prints this", &Options::help},
  };
}

int64_t wholeNumber(const std::string& name, const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw OptionError(message("Not a whole number: ", name, " ", text));
  }
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bool isJson(const std::string& text) { return text.starts_with('{') || text.starts_with('['); }

Json nameOrJson(const std::string& text, const char* option) {
  return isJson(text) ? parseJson(text, option) : Json(text);
}

Json readTask(const TrainOptions& options) {
  Json task = options.task.empty() ? Json::object() : parseJson(readFile(options.task), options.task);
  if (!task.is_object()) throw UserError(message("Not a JSON object: ", options.task));
  if (!options.network.empty()) {
    bool isText = isJson(options.network);
    task["network"] =
        parseJson(isText ? options.network : readFile(options.network), isText ? "--network" : options.network);
  }
  if (!task.contains("network")) throw OptionError("Missing option: --network FILE, or --task FILE");
  return task;
}

// The object of this key, which is made when it is missing.
Json& objectOf(Json& task, const char* key) {
  if (task[key].is_null()) task[key] = Json::object();
  if (!task[key].is_object()) throw UserError(message("Not a JSON object: ", key, ", found ", task[key].type_name()));
  return task[key];
}

void writeLearningRate(const std::string& text, Json& training) {
  Json rate;
  if (isJson(text)) {
    rate = parseJson(text, "--learning-rate");
  } else {
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw OptionError(message("Not a number: --learning-rate ", text));
    }
    rate = number;
  }
  Json& optimizer = training["optimizer"];
  if (optimizer.is_null()) optimizer = defaultOptimizer();
  if (optimizer.is_string()) optimizer = {{"kind", optimizer}};
  if (optimizer.is_object()) optimizer["learningRate"] = rate;
}

void writeTraining(const TrainOptions& options, Json& training) {
  if (!options.optimizer.empty()) training["optimizer"] = nameOrJson(options.optimizer, "--optimizer");
  if (!options.learningRate.empty()) writeLearningRate(options.learningRate, training);
  if (!options.loss.empty()) training["loss"] = nameOrJson(options.loss, "--loss");
  if (isJson(options.metrics)) {
    training["metrics"] = parseJson(options.metrics, "--metrics");
  } else if (!options.metrics.empty()) {
    training["metrics"] = split(options.metrics);
  }
  if (options.batch) {
    training["batchSize"] = *options.batch;
    training.erase("globalBatchSize");
  }
  if (options.epochs) training["epochs"] = *options.epochs;
  if (options.seed) training["seed"] = *options.seed;
}

void writeData(const TrainOptions& options, Json& task) {
  if (options.dataMemory) objectOf(task, "data")["memory"] = *options.dataMemory;
  if (options.memoryBudget) task["memoryBudget"] = *options.memoryBudget;
  if (!options.spillFolder.empty()) objectOf(task, "data")["folders"] = split(options.spillFolder);
}

// Of a dumped task only its own machine knew what to do with checkpoints.
void writeCheckpoint(const TrainOptions& options, Json& task) {
  task.erase("checkpoint");
  if (options.checkpointSteps && options.checkpoint.empty()) {
    throw OptionError("Option --checkpoint-steps without a place for the state: give --checkpoint FILE");
  }
  if (options.checkpoint.empty()) return;
  Json& when = objectOf(task, "checkpoint");
  options.checkpointSteps ? when["steps"] = *options.checkpointSteps : when["epochs"] = 1;
}

// A list of columns, as the task has them: `one` for a single input or output, `several` by name for more.
void writeColumnList(const std::string& text, const char* option, const std::vector<std::string>& names,
                     const char* what, const char* one, const char* several, Json& columns) {
  std::vector<std::string> given = split(text);
  if (given.size() != names.size()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw OptionError(message("Not one column for each ", what, ": ", option, " ", text, ", ", what, "s: ", known));
  }
  columns.erase(one);
  columns.erase(several);
  if (names.size() == 1) {
    columns[one] = given[0];
  } else {
    for (size_t i = 0; i < names.size(); ++i) columns[several][names[i]] = given[i];
  }
}

void writeColumns(const TrainOptions& options, const network::Graph& graph, Json& task) {
  bool given = !(options.features + options.labels + options.weight + options.validation).empty();
  if (!given) return;
  std::vector<std::string> inputs, outputs;
  for (size_t input : graph.inputs()) inputs.push_back(graph.nodes()[input].name);
  for (const network::Output& output : graph.outputs()) outputs.push_back(output.name);
  Json& columns = objectOf(task, "columns");
  if (!options.features.empty()) {
    writeColumnList(options.features, "--features", inputs, "input", "features", "inputs", columns);
  }
  if (!options.labels.empty()) {
    writeColumnList(options.labels, "--labels", outputs, "output", "label", "labels", columns);
  }
  // An empty name stands for none.
  auto isSet = [&](const char* key) {
    return columns.contains(key) && !columns[key].is_null() && columns[key] != Json("");
  };
  if (!isSet("label") && !isSet("labels") && outputs.size() == 1) columns["label"] = train::kDefaultLabelColumn;
  if (!options.weight.empty()) columns["weight"] = options.weight;
  if (options.validation.empty()) return;
  if (isSet("validation")) {
    throw UserError("Both --validation and columns.validation of the task are set: keep one");
  }
  columns["validation"] = kValidationMark;
}

}  // namespace

TrainOptions TrainOptions::parse(int count, const char* const* words) {
  std::vector<Option> known = knownOptions();
  std::vector<std::string> names;
  for (const Option& option : known) names.push_back(option.name);
  TrainOptions options;
  for (int i = 1; i < count; ++i) {
    std::string name = words[i];
    std::optional<std::string> value;
    if (size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw OptionError(unknownName("option", name, names));
    const Option& option = known[static_cast<size_t>(found - names.begin())];
    if (option.value == nullptr) {
      if (value) throw OptionError(message("Option takes no value: ", name));
      options.*std::get<bool TrainOptions::*>(option.member) = true;
      continue;
    }
    if (!value && i + 1 < count) value = words[++i];
    if (!value || value->empty()) throw OptionError(message("Option without a value: ", name, " ", option.value));
    if (auto* text = std::get_if<std::string TrainOptions::*>(&option.member)) {
      options.*(*text) = *value;
    } else {
      options.*std::get<std::optional<int64_t> TrainOptions::*>(option.member) = wholeNumber(name, *value);
    }
  }
  return options;
}

std::string TrainOptions::usage() {
  std::ostringstream text;
  text << "Usage: bloomery-train --network FILE --data PATH [OPTION..]\n"
          "Trains a network on Parquet files, with no Spark and no JVM.\n\n";
  for (const Option& option : knownOptions()) {
    std::string left = option.name;
    if (option.value != nullptr) left.append(" ").append(option.value);
    text << "  " << std::left << std::setw(30) << left << option.meaning << "\n";
  }
  return text.str();
}

std::string taskOf(const TrainOptions& options) {
  Json task = readTask(options);
  writeTraining(options, objectOf(task, "training"));
  writeData(options, task);
  writeCheckpoint(options, task);
  writeColumns(options, network::Graph::fromJson(task.at("network")), task);
  Json worker = Json::object();
  if (objectOf(task, "worker").contains("threads")) worker["threads"] = task["worker"]["threads"];
  if (options.threads) worker["threads"] = *options.threads;
  task["worker"] = worker;
  return task.dump();
}

}  // namespace bloomery::tools
