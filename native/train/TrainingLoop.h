// The algorithm: epochs of steps over this worker's rows, in step with the other workers. Everything it needs is made
// in the constructor and borrowed from the Trainer; it lives and runs on the compute thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/Cancellation.h"
#include "comm/CommThread.h"
#include "data/Prefetcher.h"
#include "nn/Plan.h"
#include "train/Progress.h"
#include "train/StepTail.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

inline constexpr int kPrefetchDepth = 4;

// The rows of an epoch's steps on this worker.
using StepRowsOfEpoch = std::function<std::unique_ptr<data::StepRows>(int64_t epoch)>;

struct LoopContext {
  const TaskSpec& task;
  const Arena& parameters;
  const data::RowStore& trainingRows;
  const data::RowStore& validationRows;
  comm::Communicator& communicator;
  const Cancellation& cancellation;
  Progress& progress;
  Trace& trace;
  StepRowsOfEpoch stepRows;  // empty: by the task's seed and shuffle
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopContext context);

  // Waits till every worker has its rows, exchanging signs of life, so that slow data is not taken for a dead peer;
  // `waitForRows` waits a moment and tells whether this worker's are complete.
  void awaitRows(const std::function<bool()>& waitForRows);
  // Trains all epochs. UserError when there is nothing to train on or the loss is not finite.
  void run();

 private:
  std::unique_ptr<data::StepRows> rowsOf(int64_t epoch) const;
  void trainEpoch(int64_t epoch);
  StepHeader exchangeHeader(const data::Batch* batch);
  nn::LossSums earlierPasses(int64_t epoch);
  nn::LossSums computeGradients(const data::Batch* batch, double weightSum, int64_t epoch);
  double updateParameters(double gradientScale);
  std::optional<Measures> evaluate();
  void checkEqualParameters(int64_t epoch);
  int64_t sumOverWorkers(int64_t value);

  LoopContext context_;
  comm::Timeout timeout_;
  int64_t batchSize_;
  Arena gradients_;  // with the StepTail behind the last slice
  StepTail tail_;
  std::unique_ptr<nn::Plan> plan_;
  int64_t passes_;     // batches of a step on this worker
  Arena accumulated_;  // gradients of a step's earlier passes
  optim::Updater updater_;
  comm::CommThread comm_;
  data::Prefetcher batches_;
  data::Prefetcher validationBatches_;
  int64_t stepsPerEpoch_ = 1;
  double learningRate_ = 0;  // of the last step
  int64_t totalRows_ = 0;
  int64_t totalValidationRows_ = 0;
  double computeSeconds_ = 0;
};

}  // namespace bloomery::train
