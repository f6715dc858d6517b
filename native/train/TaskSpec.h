// What a worker is asked to do, parsed once from the task JSON. Every default of training lives here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/Graph.h"
#include "nn/Device.h"
#include "optim/Updater.h"
#include "tensor/Halves.h"
#include "train/CheckpointSpec.h"
#include "train/DataSpec.h"
#include "train/EarlyStopping.h"
#include "train/Head.h"

namespace bloomery::train {

// A step tail counts the rows of a step in a float.
inline constexpr int64_t kMaxBatchSize = 1 << 24;

struct TrainSpec {
  std::vector<Head> heads;  // by output: loss, metrics and their like
  optim::UpdateSpec updates;
  int64_t batchSize = 32;                         // rows of a step on each worker
  std::optional<int64_t> globalBatchSize;         // instead: rows of a step on all workers together
  int64_t backwardPassesPerStep = 1;              // batches of a worker whose gradients make one update
  std::optional<HalfFormat> gradientCompression;  // on their way between workers; none: floats
  int64_t localSteps = 1;  // above: gradients stay on their worker, and parameters are averaged every so many steps
  int64_t epochs = 1;
  std::optional<int64_t> stepsPerEpoch;  // for schedules that count epochs, before all rows have come
  uint64_t seed = 0;
  bool shuffle = true;
  double validationFraction = 0;  // of the rows: evaluated after each epoch instead of trained on
  StoppingSpec stopping;

  // validates: a column marks rows for validation.
  static TrainSpec fromJson(const Json& json, const network::Graph& graph, bool validates = false);
  Json toJson() const;
  // The global batch divides as evenly as it can; the first ranks take the rest.
  int64_t batchSizeOf(int rank, int size) const;
  // Of an epoch with so many rows of this worker.
  int64_t stepsOf(int64_t rows, int rank, int size) const;
  double globalBatchSizeOf(int size) const;
};

struct WorkerSpec {
  int rank = 0;
  int size = 1;
  int threads = 1;
  std::string host = "127.0.0.1";
  std::string device = nn::kDefaultDevice;
  double connectTimeout = 60;   // seconds
  double stepTimeout = 60;      // seconds
  bool traceLayers = false;     // the trace has a span for each layer of each step
  bool asksAfterEpoch = false;  // whether to go on: rank 0's owner, while the others wait

  static WorkerSpec fromJson(const Json& json);
  const nn::Device& computing() const { return nn::deviceNamed(device); }
};

struct TaskSpec {
  network::Graph graph;
  TrainSpec training;
  WorkerSpec worker;
  DataSpec rows;                             // "data" of the JSON
  std::optional<CheckpointSpec> checkpoint;  // nothing: no state is saved
  data::IngestColumns columns;
  std::optional<int64_t> memoryBudget;  // bytes: describe tells the largest batch that stays within them

  static TaskSpec parse(const std::string& text);
  // Of rows to train on, and of rows to predict for.
  data::RowFormat rowFormat() const;
  data::RowFormat featuresFormat() const;
  std::vector<data::TargetRule> targetRules() const;
};

}  // namespace bloomery::train
