// All that a training must keep to go on as if it had never stopped, to and from bytes. What is the same on all workers
// (parameters, what the updater keeps, sums, where the training stands) is one safetensors with a JSON text in its
// metadata; what each worker knows alone (its batches taken, metric sums, its epochs) is JSON, a line each. Random
// numbers depend on (seed, epoch, layer, row id) alone and need no place in it. Used on the compute thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/Instructions.h"
#include "base/Log.h"
#include "checkpoint/Safetensors.h"
#include "comm/Bucketer.h"
#include "data/RowStore.h"
#include "optim/Updater.h"
#include "train/CheckpointSlot.h"
#include "train/Progress.h"
#include "train/StepTail.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

// The bytes of a checkpoint that one worker reads.
struct SavedState {
  std::string shared;
  std::string own;        // empty: it was made by another number of workers
  bool recovers = false;  // it was made by the fit that goes on, with the same source
};

// By which rows of a worker are known again.
struct RowPrint {
  int64_t training = 0, validation = 0;
  uint64_t ids = 0;  // a hash of the row ids in their order; 0 where these are not the same each time
  bool operator==(const RowPrint&) const = default;

  static RowPrint of(const TaskSpec& task, const data::RowStore& training, const data::RowStore& validation);
};

// By which the rows of all workers are known again, however many they are.
struct TotalRows {
  int64_t training = 0, validation = 0;
  std::optional<uint64_t> contents = {};  // of all, in any order; nothing in checkpoints that were made without it

  // What a worker adds to `contents`.
  static uint64_t contentsOf(const data::RowStore& training, const data::RowStore& validation);
};

// Where a training stands, beside its parameters and the updater.
struct Position {
  Position(size_t outputs, size_t metricSumsCount) : totals(outputs), next(outputs), metricSums(metricSumsCount) {}

  int64_t epoch = 1;  // that is under way
  int64_t step = 0;   // steps done of it
  // Of the epoch so far, over all workers.
  StepSums totals;
  double penalties = 0;
  double learningRate = 0;
  StepHeader next;                // of the step after the last
  std::optional<TotalRows> rows;  // nothing: rows still came
  // On this worker.
  int64_t batches = 0;  // taken of the epoch
  int64_t ownRows = 0;
  double seconds = 0;
  std::vector<double> metricSums;
  std::optional<RowPrint> print;  // likewise
  bool recovers = false;          // as in SavedState
};

class TrainState {
 public:
  // Everything given by reference is borrowed.
  TrainState(const TaskSpec& task, std::string settings, const ArenaLayout& layout, const Arena& parameters,
             optim::Updater& updater, EarlyStopping& stopping, Progress& progress,
             const std::vector<comm::Bucket>& buckets);

  void write(const Position& position, bool finished, Snapshot& snapshot);
  // Fills parameters and updater, and `position`. Warns where the same bits cannot be expected.
  void read(const SavedState& saved, Position& position, Log* log);

 private:
  std::vector<checkpoint::TensorPart> parts();

  const TaskSpec& task_;
  std::string settings_;
  const ArenaLayout& layout_;
  const Arena& parameters_;
  optim::Updater& updater_;
  EarlyStopping& stopping_;
  Progress& progress_;
  const std::vector<comm::Bucket>& buckets_;
};

// UserError when this training cannot go on from there: other settings, each with its old value, or another number of
// workers in the middle of an epoch.
void checkGoesOn(const SavedState& saved, const TaskSpec& task, const std::string& settings);

// That it was computed with; the best where it does not say.
Instructions savedInstructions(const SavedState& saved);

// The epochs that had ended, each as JSON.
std::vector<std::string> savedEpochs(const SavedState& saved);

// With all rows there. UserError when they are others than the checkpoint was made with; where only their places are
// others and training can go on without them, a warning. So it is where a source gives the same fit other values when
// it is asked again.
void checkSameRows(const Position& saved, const RowPrint& own, const TotalRows& all, int rank, Log* log);

}  // namespace bloomery::train
