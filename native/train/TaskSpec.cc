#include "train/TaskSpec.h"

#include <algorithm>
#include <limits>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "data/LateValues.h"
#include "train/Columns.h"

namespace bloomery::train {

namespace {

constexpr int64_t kMaxWorkers = 1'000'000, kMaxThreads = 10'000;
constexpr double kMaxSeconds = 1e9;

int64_t positive(int64_t value, const char* name, int64_t largest = std::numeric_limits<int64_t>::max()) {
  if (value < 1) throw UserError(message("Not positive: ", name, " ", value, ", give at least 1"));
  if (value > largest) throw UserError(message("Too large: ", name, " ", value, ", give at most ", largest));
  return value;
}

double positive(double value, const char* name) {
  if (!(value > 0)) throw UserError(message("Not positive: ", name, " ", value, ", give seconds above 0"));
  if (value > kMaxSeconds) throw UserError(message("Too large: ", name, " ", value, ", give at most ", kMaxSeconds));
  return value;
}

const network::Node& inputNode(const network::Graph& graph, size_t input) {
  return graph.nodes()[graph.inputs()[input]];
}

std::vector<std::string> inputNames(const network::Graph& graph) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs().size(); ++i) names.push_back(inputNode(graph, i).name);
  return names;
}

std::vector<std::string> outputNames(const network::Graph& graph) {
  std::vector<std::string> names;
  for (const network::Output& output : graph.outputs()) names.push_back(output.name);
  return names;
}

void checkSchedule(const TaskSpec& task) {
  if (optim::watchesValidation(optim::scheduleOf(task.training.updates.optimizer)) && task.columns.validation.empty() &&
      task.training.validationFraction == 0) {
    throw UserError(
        "Schedule reduce_on_plateau watches validation_loss, but no rows are for validation: set "
        "validationIndicatorCol or validationFraction, or monitor to \"loss\"");
  }
}

// Which rows are for validation is part of how they are taken in.
void splitRows(TaskSpec& task) {
  if (task.training.validationFraction == 0) return;
  if (!task.columns.validation.empty()) {
    throw UserError("Both validationFraction and a column that marks validation rows are set: keep one");
  }
  task.columns.validationFraction = task.training.validationFraction;
  task.columns.validationByContent = task.rows.unordered;
  task.columns.seed = task.training.seed;
}

// An Embedding has a row for every index below its limit, and a mean is a fraction.
void checkInputs(const TaskSpec& task) {
  for (size_t input = 0; input < task.columns.features.size(); ++input) {
    int64_t limit = task.graph.indexLimit(input);
    DType type = task.graph.input(input).dtype;
    for (const data::InputColumn& column : task.columns.features[input].columns) {
      if (column.means != nullptr && type != DType::kFloat32 && type != DType::kFloat64) {
        throw UserError(message("Means of nulls need a floating dtype: column '", column.name, "', input '",
                                inputNode(task.graph, input).name, "' of ", nameOf(type)));
      }
      if (column.learnt != nullptr) column.learnt->limit(limit);
      if (limit == 0 || !column.categories || column.categories->indexLimit() <= limit) continue;
      throw UserError(message("More categories than the Embedding has rows: ", column.categories->indexLimit(),
                              " indices of column '", column.name, "', rows: ", limit, ", input '",
                              inputNode(task.graph, input).name, "'"));
    }
  }
}

// Several passes divide their gradients once, at the end, and meet the other workers only then.
void checkPasses(const TaskSpec& task) {
  if (task.training.backwardPassesPerStep == 1) return;
  for (const Head& head : task.training.heads) {
    if (task.training.heads.size() == 1 || head.classWeights.empty()) continue;
    throw UserError(
        message("Option backwardPassesPerStep above 1 does not go with class weights of one of several outputs: '",
                head.output.name, "', set it to 1 or leave the class weights out"));
  }
  if (task.graph.synchronizesStatistics()) {
    throw UserError(
        "Option backwardPassesPerStep above 1 does not go with synchronized batch normalization: set it to 1");
  }
}

// Then no gradient travels, and each worker's optimizer has a state of its own.
void checkLocalSteps(const TaskSpec& task) {
  if (task.training.localSteps == 1) return;
  if (task.checkpoint) {
    throw UserError(
        "Option localSteps above 1 does not go with checkpoints, which keep one optimizer's state for all workers:"
        " leave checkpointPath out, or set localSteps to 1");
  }
  if (task.training.gradientCompression) {
    throw UserError(
        "Option localSteps above 1 does not go with gradientCompression, since no gradient travels: keep one");
  }
  if (task.graph.synchronizesStatistics()) {
    throw UserError("Option localSteps above 1 does not go with synchronized batch normalization: set it to 1");
  }
}

struct Compression {
  const char* name;
  std::optional<HalfFormat> format;
};
constexpr Compression kCompressions[] = {{"none", {}}, {"fp16", HalfFormat::kFp16}, {"bf16", HalfFormat::kBf16}};

std::optional<HalfFormat> readCompression(const std::string& name) {
  std::vector<std::string> names;
  for (const Compression& known : kCompressions) {
    if (known.name == name) return known.format;
    names.emplace_back(known.name);
  }
  throw UserError(unknownName("gradientCompression", name, names));
}

const char* nameOf(std::optional<HalfFormat> format) {
  for (const Compression& known : kCompressions) {
    if (known.format == format) return known.name;
  }
  throw InternalError("A wire format without a name");
}

}  // namespace

TrainSpec TrainSpec::fromJson(const Json& json, const network::Graph& graph, bool validates) {
  JsonReader reader(json, "training");
  TrainSpec spec;
  spec.heads = readHeads(reader, graph.outputs());
  spec.updates = optim::UpdateSpec::read(reader);
  if (reader.has("batchSize") && reader.has("globalBatchSize")) {
    throw UserError("Both batchSize and globalBatchSize are set: keep one");
  }
  spec.batchSize = positive(reader.integer("batchSize", spec.batchSize), "batchSize", kMaxBatchSize);
  if (reader.has("globalBatchSize")) {
    spec.globalBatchSize = positive(reader.integer("globalBatchSize"), "globalBatchSize", kMaxBatchSize);
  }
  spec.backwardPassesPerStep = positive(reader.integer("backwardPassesPerStep", spec.backwardPassesPerStep),
                                        "backwardPassesPerStep", kMaxBatchSize);
  spec.gradientCompression = readCompression(reader.text("gradientCompression", "none"));
  spec.localSteps = positive(reader.integer("localSteps", spec.localSteps), "localSteps");
  spec.epochs = positive(reader.integer("epochs", spec.epochs), "epochs");
  if (reader.has("stepsPerEpoch")) spec.stepsPerEpoch = positive(reader.integer("stepsPerEpoch"), "stepsPerEpoch");
  spec.seed = static_cast<uint64_t>(reader.integer("seed", 0));
  spec.shuffle = reader.boolean("shuffle", spec.shuffle);
  spec.validationFraction = reader.number("validationFraction", spec.validationFraction);
  if (!(spec.validationFraction >= 0 && spec.validationFraction < 1)) {
    throw UserError(
        message("Out of range: validationFraction ", spec.validationFraction, ", give a number from 0 to below 1"));
  }
  spec.stopping = StoppingSpec::read(reader, spec.heads, validates || spec.validationFraction > 0);
  reader.finish();
  return spec;
}

Json TrainSpec::toJson() const {
  Json json = Json::object();
  updates.write(json);
  if (!heads.empty()) writeHeads(heads, json);
  if (globalBatchSize) {
    json["globalBatchSize"] = *globalBatchSize;
  } else {
    json["batchSize"] = batchSize;
  }
  json["backwardPassesPerStep"] = backwardPassesPerStep;
  json["gradientCompression"] = nameOf(gradientCompression);
  json["localSteps"] = localSteps;
  json["epochs"] = epochs;
  if (stepsPerEpoch) json["stepsPerEpoch"] = *stepsPerEpoch;
  json["seed"] = static_cast<int64_t>(seed);
  json["shuffle"] = shuffle;
  json["validationFraction"] = validationFraction;
  stopping.write(json);
  return json;
}

int64_t TrainSpec::batchSizeOf(int rank, int size) const {
  if (!globalBatchSize) return batchSize;
  if (*globalBatchSize < size) {
    throw UserError(message("globalBatchSize is smaller than the number of workers: ", *globalBatchSize,
                            ", workers: ", size, ", give each worker at least one row"));
  }
  return *globalBatchSize / size + (rank < *globalBatchSize % size ? 1 : 0);
}

int64_t TrainSpec::stepsOf(int64_t rows, int rank, int size) const {
  int64_t rowsOfStep = batchSizeOf(rank, size) * backwardPassesPerStep;
  return rows / rowsOfStep + (rows % rowsOfStep > 0 ? 1 : 0);
}

double TrainSpec::globalBatchSizeOf(int size) const {
  return globalBatchSize ? static_cast<double>(*globalBatchSize) : static_cast<double>(batchSize) * size;
}

WorkerSpec WorkerSpec::fromJson(const Json& json) {
  JsonReader reader(json, "worker");
  WorkerSpec spec;
  int64_t rank = reader.integer("rank", spec.rank);
  spec.size = static_cast<int>(positive(reader.integer("size", spec.size), "size", kMaxWorkers));
  spec.threads = static_cast<int>(positive(reader.integer("threads", spec.threads), "threads", kMaxThreads));
  spec.host = reader.text("host", spec.host);
  spec.device = reader.text("device", spec.device);
  spec.connectTimeout = positive(reader.number("connectTimeout", spec.connectTimeout), "connectTimeout");
  spec.stepTimeout = positive(reader.number("stepTimeout", spec.stepTimeout), "stepTimeout");
  spec.traceLayers = reader.boolean("traceLayers", spec.traceLayers);
  spec.asksAfterEpoch = reader.boolean("asksAfterEpoch", spec.asksAfterEpoch);
  reader.finish();
  if (rank < 0 || rank >= spec.size) {
    throw UserError(message("Rank out of range: ", rank, ", workers: ", spec.size));
  }
  spec.rank = static_cast<int>(rank);
  nn::deviceNamed(spec.device);  // refuses what it does not know
  return spec;
}

TaskSpec TaskSpec::parse(const std::string& text) {
  Json json = parseJson(text, "task");
  JsonReader reader(json, "task");
  TaskSpec task;
  task.graph = network::Graph::fromJson(reader.value("network"));
  bool trains = reader.has("training");
  if (reader.has("worker")) task.worker = WorkerSpec::fromJson(reader.value("worker"));
  if (reader.has("data")) task.rows = DataSpec::fromJson(reader.value("data"));
  if (reader.has("checkpoint")) task.checkpoint = CheckpointSpec::fromJson(reader.value("checkpoint"));
  task.columns = readColumns(reader.has("columns") ? &reader.value("columns") : nullptr, inputNames(task.graph),
                             outputNames(task.graph));
  if (trains) {
    task.training = TrainSpec::fromJson(reader.value("training"), task.graph, !task.columns.validation.empty());
  }
  checkInputs(task);
  if (reader.has("memoryBudget")) task.memoryBudget = positive(reader.integer("memoryBudget"), "memoryBudget");
  reader.finish();
  if (trains) {
    splitRows(task);
    checkSchedule(task);
    checkPasses(task);
    checkLocalSteps(task);
    task.graph.checkBatchSize(task.training.batchSizeOf(task.worker.rank, task.worker.size));
  }
  return task;
}

data::RowFormat TaskSpec::featuresFormat() const {
  data::RowFormat format;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto& input = std::get<network::Input>(inputNode(graph, i).layer);
    data::FeatureFormat feature{input.dtype, input.shape.numElements(), input.shape, input.scale, graph.indexLimit(i)};
    for (const data::InputColumn& column : columns.features[i].columns) {
      if (column.means != nullptr) feature.late.push_back(column.means);
      if (column.learnt != nullptr) feature.late.push_back(column.learnt);
    }
    format.features.push_back(std::move(feature));
  }
  return format;
}

data::RowFormat TaskSpec::rowFormat() const {
  data::RowFormat format = featuresFormat();
  for (const Head& head : training.heads) format.targets.push_back(head.targetFormat());
  format.hasWeights = !columns.weight.empty();
  return format;
}

std::vector<data::TargetRule> TaskSpec::targetRules() const {
  std::vector<data::TargetRule> rules;
  for (const Head& head : training.heads) rules.push_back(head.targetRule());
  for (size_t i = 0; i < std::min(rules.size(), columns.vocabularies.size()); ++i) {
    rules[i].vocabulary = columns.vocabularies[i];
  }
  return rules;
}

}  // namespace bloomery::train
