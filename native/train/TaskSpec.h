// What a worker is asked to do, parsed once from the task JSON. Every default of training lives here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/arrow/ArrowIngest.h"
#include "network/Graph.h"
#include "optim/Updater.h"

namespace bloomery::train {

struct TrainSpec {
  std::string loss = "categorical_crossentropy";
  optim::UpdateSpec updates;
  std::vector<std::string> metrics = {"accuracy"};
  int64_t batchSize = 32;                  // rows of a step on each worker
  std::optional<int64_t> globalBatchSize;  // instead: rows of a step on all workers together
  int64_t backwardPassesPerStep = 1;       // batches of a worker whose gradients make one update
  int64_t epochs = 1;
  uint64_t seed = 0;
  bool shuffle = true;

  static TrainSpec fromJson(const Json& json);
  Json toJson() const;
  // The global batch divides as evenly as it can; the first ranks take the rest.
  int64_t batchSizeOf(int rank, int size) const;
};

struct WorkerSpec {
  int rank = 0;
  int size = 1;
  int threads = 1;
  std::string host = "127.0.0.1";
  double connectTimeout = 60;  // seconds
  double stepTimeout = 60;     // seconds

  static WorkerSpec fromJson(const Json& json);
};

struct TaskSpec {
  network::Graph graph;
  TrainSpec training;
  WorkerSpec worker;
  data::IngestColumns columns{"features", "label", "", ""};

  static TaskSpec parse(const std::string& text);
  data::RowFormat rowFormat() const;
  int64_t classes() const { return graph.outputShape()[0]; }
};

}  // namespace bloomery::train
