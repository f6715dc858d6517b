#include "train/TaskSpec.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery::train {

namespace {

void wantKnown(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end()) throw UserError(unknownName(what, name, known));
}

int64_t positive(int64_t value, const char* name) {
  if (value < 1) throw UserError(message("Not positive: ", name, " ", value, ", give at least 1"));
  return value;
}

double positive(double value, const char* name) {
  if (!(value > 0)) throw UserError(message("Not positive: ", name, " ", value, ", give seconds above 0"));
  return value;
}

// Only what the losses of this version can train: one class index per row.
void checkTrainable(const network::Graph& graph, const TrainSpec& training) {
  if (graph.outputShape().rank() != 1) {
    throw UserError(message("Output has the wrong shape for ", training.loss, ": layer '", graph.outputLayer(),
                            "' gives ", graph.outputShape().toString(),
                            ", wanted (classes,): add a Flatten and a Dense"));
  }
  if (!graph.endsInSoftmax()) {
    throw UserError(message("Loss ", training.loss, " needs a softmax output: set activation=\"softmax\" on layer '",
                            graph.outputLayer(), "'"));
  }
}

void checkSchedule(const TaskSpec& task) {
  if (optim::watchesValidation(optim::scheduleOf(task.training.updates.optimizer)) && task.columns.validation.empty()) {
    throw UserError(
        "Schedule reduce_on_plateau watches validation_loss, but no column marks validation rows: set "
        "validationIndicatorCol, or monitor to \"loss\"");
  }
}

}  // namespace

TrainSpec TrainSpec::fromJson(const Json& json) {
  JsonReader reader(json, "training");
  TrainSpec spec;
  spec.loss = reader.text("loss", spec.loss);
  wantKnown("loss", spec.loss, {"categorical_crossentropy", "sparse_categorical_crossentropy"});
  spec.updates = optim::UpdateSpec::read(reader);
  spec.metrics = reader.texts("metrics", spec.metrics);
  for (const std::string& metric : spec.metrics) wantKnown("metric", metric, {"accuracy"});
  if (reader.has("batchSize") && reader.has("globalBatchSize")) {
    throw UserError("Both batchSize and globalBatchSize are set: keep one");
  }
  spec.batchSize = positive(reader.integer("batchSize", spec.batchSize), "batchSize");
  if (reader.has("globalBatchSize")) {
    spec.globalBatchSize = positive(reader.integer("globalBatchSize"), "globalBatchSize");
  }
  spec.backwardPassesPerStep =
      positive(reader.integer("backwardPassesPerStep", spec.backwardPassesPerStep), "backwardPassesPerStep");
  spec.epochs = positive(reader.integer("epochs", spec.epochs), "epochs");
  spec.seed = static_cast<uint64_t>(reader.integer("seed", 0));
  spec.shuffle = reader.boolean("shuffle", spec.shuffle);
  reader.finish();
  return spec;
}

Json TrainSpec::toJson() const {
  Json json = {{"loss", loss}};
  updates.write(json);
  json["metrics"] = metrics;
  if (globalBatchSize) {
    json["globalBatchSize"] = *globalBatchSize;
  } else {
    json["batchSize"] = batchSize;
  }
  json["backwardPassesPerStep"] = backwardPassesPerStep;
  json["epochs"] = epochs;
  json["seed"] = static_cast<int64_t>(seed);
  json["shuffle"] = shuffle;
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

WorkerSpec WorkerSpec::fromJson(const Json& json) {
  JsonReader reader(json, "worker");
  WorkerSpec spec;
  spec.rank = static_cast<int>(reader.integer("rank", spec.rank));
  spec.size = static_cast<int>(positive(reader.integer("size", spec.size), "size"));
  spec.threads = static_cast<int>(positive(reader.integer("threads", spec.threads), "threads"));
  spec.host = reader.text("host", spec.host);
  spec.connectTimeout = positive(reader.number("connectTimeout", spec.connectTimeout), "connectTimeout");
  spec.stepTimeout = positive(reader.number("stepTimeout", spec.stepTimeout), "stepTimeout");
  reader.finish();
  if (spec.rank < 0 || spec.rank >= spec.size) {
    throw UserError(message("Rank out of range: ", spec.rank, ", workers: ", spec.size));
  }
  return spec;
}

TaskSpec TaskSpec::parse(const std::string& text) {
  Json json = parseJson(text, "task");
  JsonReader reader(json, "task");
  TaskSpec task;
  task.graph = network::Graph::fromJson(reader.value("network"));
  bool trains = reader.has("training");
  if (trains) task.training = TrainSpec::fromJson(reader.value("training"));
  if (reader.has("worker")) task.worker = WorkerSpec::fromJson(reader.value("worker"));
  if (reader.has("columns")) {
    JsonReader columns(reader.value("columns"), "columns");
    task.columns = {columns.text("features", "features"), columns.text("label", ""), columns.text("weight", ""),
                    columns.text("validation", "")};
    columns.finish();
  }
  reader.finish();
  if (trains) {
    checkTrainable(task.graph, task.training);
    checkSchedule(task);
    task.training.batchSizeOf(task.worker.rank, task.worker.size);
  }
  return task;
}

data::RowFormat TaskSpec::rowFormat() const {
  return {graph.input().dtype, graph.input().shape.numElements(), graph.input().shape};
}

}  // namespace bloomery::train
