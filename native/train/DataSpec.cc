#include "train/DataSpec.h"

#include <algorithm>
#include <limits>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "optim/Schedule.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

namespace {

constexpr int64_t kMaxShuffleBuffer = int64_t{1} << 28;

}  // namespace

DataSpec DataSpec::fromJson(const Json& json) {
  JsonReader reader(json, "data");
  DataSpec spec;
  spec.shuffleBuffer = reader.integer("shuffleBuffer", spec.shuffleBuffer);
  if (reader.has("memory")) spec.memory = reader.integer("memory");
  spec.folders = reader.texts("folders", {});
  if (reader.has("encryptionKey")) spec.key = readCipherKey(reader.text("encryptionKey"), "data.encryptionKey");
  if (reader.has("rowsOfWorkers")) spec.rowsOfWorkers = reader.integers("rowsOfWorkers");
  spec.unordered = reader.boolean("unordered", spec.unordered);
  reader.finish();
  for (int64_t rows : spec.rowsOfWorkers) {
    if (rows < 0) throw UserError(message("Negative: ", rows, " in data.rowsOfWorkers"));
  }
  if (spec.memory && *spec.memory < 0) {
    throw UserError(message("Negative: dataMemory ", *spec.memory, ", give bytes from 0"));
  }
  if (spec.shuffleBuffer < 1 || spec.shuffleBuffer > kMaxShuffleBuffer) {
    throw UserError(
        message("shuffleBuffer out of range: ", spec.shuffleBuffer, ", give rows from 1 to ", kMaxShuffleBuffer));
  }
  return spec;
}

std::unique_ptr<data::SpillSpace> DataSpec::makeSpace() const {
  return memory ? std::make_unique<data::SpillSpace>(data::SpillOptions{*memory, folders, key}) : nullptr;
}

std::optional<int64_t> knownStepsPerEpoch(const TaskSpec& task) {
  if (task.training.stepsPerEpoch) return task.training.stepsPerEpoch;
  const std::vector<int64_t>& rows = task.rows.rowsOfWorkers;
  bool validates = !task.columns.validation.empty() || task.training.validationFraction > 0;
  if (validates || rows.size() != static_cast<size_t>(task.worker.size)) return std::nullopt;
  int64_t steps = 1;
  for (int rank = 0; rank < task.worker.size; ++rank) {
    steps = std::max(steps, task.training.stepsOf(rows[static_cast<size_t>(rank)], rank, task.worker.size));
  }
  return steps;
}

std::optional<std::string> whyRowsLoadFirst(const TaskSpec& task) {
  bool countsEpochs = optim::countsEpochs(optim::scheduleOf(task.training.updates.optimizer));
  if (countsEpochs && !knownStepsPerEpoch(task)) {
    return "the learning rate's schedule counts epochs, whose steps are known when all rows are there; give it in "
           "steps, or set stepsPerEpoch";
  }
  if (task.training.backwardPassesPerStep > 1) {
    return "backwardPassesPerStep is above 1: the passes of a step wait for no rows";
  }
  if (task.columns.needsAllRows()) {
    return "means for nulls and learnt vocabularies are known when all rows are there; give a vocabulary, or another "
           "rule for nulls";
  }
  if (auto measured = task.graph.measuredNodes(); !measured.empty()) {
    return message("layer '", task.graph.nodes()[measured[0]].name,
                   "' (Normalization) takes mean and variance from all rows; give it both");
  }
  return std::nullopt;
}

int64_t shuffleBufferOf(const TaskSpec& task) { return task.training.shuffle ? task.rows.shuffleBuffer : 1; }

int64_t rowsOfFirstStep(const TaskSpec& task) {
  if (whyRowsLoadFirst(task)) return std::numeric_limits<int64_t>::max();
  return task.training.batchSizeOf(task.worker.rank, task.worker.size) + shuffleBufferOf(task) - 1;
}

}  // namespace bloomery::train
