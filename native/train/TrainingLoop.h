// The algorithm: epochs of steps over this worker's rows, in step with the other workers. Everything it needs is made
// in the constructor and borrowed from the Trainer; it lives and runs on the compute thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/Cancellation.h"
#include "base/Log.h"
#include "comm/Bucketer.h"
#include "comm/CommThread.h"
#include "data/Prefetcher.h"
#include "optim/Updater.h"
#include "train/AccumulatedGradients.h"
#include "train/Checkpointer.h"
#include "train/EarlyStopping.h"
#include "train/LocalSteps.h"
#include "train/Objective.h"
#include "train/Progress.h"
#include "train/StepDeadline.h"
#include "train/StepPlan.h"
#include "train/StepProfile.h"
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
  StepRowsOfEpoch stepRows;             // empty: by the task's seed and shuffle
  StepProfile* profile = nullptr;       // to be filled, or null
  Log* log = nullptr;                   // for warnings, or null
  Checkpoints* checkpoints = nullptr;   // to go on from and to be filled, or null
  bool keepsStatistics = false;         // the parameters came with those of Normalization layers
  std::unique_ptr<StepPlan> plan = {};  // null: it is made here
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopContext context);

  // Trains all epochs: the first while rows still come to the stores, unless something needs them all before. While a
  // worker waits for rows, all exchange signs of life, so that slow data is not taken for a dead peer. UserError when
  // there is nothing to train on or the loss is not finite.
  void run();

 private:
  // Takes up the saved state, if there is one.
  void restore();
  void awaitAllRows();
  // What is known once all rows of all workers are there.
  void countRows();
  void takeSteps(int64_t counted);
  std::unique_ptr<data::StepRows> rowsOf(int64_t epoch) const;
  void trainEpoch(int64_t epoch);
  // The next batch, past those that a restored epoch had taken; nothing when it is not there yet.
  std::optional<data::Batch*> nextBatch();
  void popBatch();
  Position positionAt(int64_t epoch, int64_t step, double seconds) const;
  // The header of this worker's next batch: nullptr when it has run out, nothing when it is not there yet.
  void describe(std::optional<const data::Batch*> batch, StepHeader& header) const;
  const StepHeader& divisor(const data::Batch* batch);
  // Headers alone, till every worker knows what it brings to the next step.
  void exchangeHeaders(StepHeader& header);
  // All batches of a step but its last: their gradients wait, not divided yet, for those of the last.
  void earlierPasses(int64_t epoch);
  // The batch behind the one under way; nothing when it is not there yet.
  std::optional<data::Batch*> batchAfter(int64_t epoch);
  // Forward, and the losses, which are added to the step's sums. A worker that has run out (nullptr) brings zeros.
  void computeLosses(const data::Batch* batch, int64_t epoch);
  void takePartWithoutRows(int64_t epoch);
  void computeGradients(const data::Batch* batch, GradientSink& sink);
  // Backward of the step's last pass, with gradients on their way as soon as they are complete.
  void reduceGradients(const data::Batch* batch);
  void checkFinite(int64_t epoch, int64_t step);
  void updateParameters(int64_t epoch, int64_t step);
  // rows: that the statistics of several passes are sums over.
  void followStatistics(size_t first, size_t size, int64_t rows);
  void averageParameters();
  void averagePenalties();
  void awaitBucket(size_t bucket);
  // The time that the others have for this step, when it has taken so long here.
  void allowFor(double seconds);
  void addPenalty(Measures& measures) const;
  // Hands the epoch's times to the profile, when there is one.
  void addToProfile(const EpochRecord& epoch);
  Measures measured(const StepSums& sums, std::span<double> metricSums);
  std::optional<Measures> evaluate(int64_t epoch);
  // Warns, once for each output, when the epoch's sums say that it did not depend on the row.
  void checkWeights() const;
  void warnOfConstantOutputs(std::span<const double> metricSums, const char* rows, int64_t epoch);
  // Keeps the weights of an epoch that is the best so far, as they were evaluated.
  void watch(int64_t epoch, const Measures& training, const std::optional<Measures>& validation);
  // Asks rank 0's owner whether to stop, where that is wanted.
  void askOwner(int64_t epoch);
  uint64_t sumOverWorkers(uint64_t value);
  comm::Timeout timeout() const { return deadline_.timeout(); }
  // What the operations of a scope are for.
  comm::Activity::For purpose(const char* what) { return {context_.communicator.activity(), what}; }

  LoopContext context_;
  StepDeadline deadline_;
  comm::Timeout patience_;  // with a batch that is late, before the others are told
  std::unique_ptr<StepPlan> made_;
  // Of that.
  int64_t batchSize_;
  const ArenaLayout& layout_;
  Arena& gradients_;
  GradientRows& rows_;
  GroupReducer& reducer_;
  nn::Plan* plan_;
  StepTail tail_;
  Objective objective_;
  int64_t passes_;  // batches of a step on this worker
  AccumulatedGradients accumulated_;
  LocalSteps local_;
  optim::Updater updater_;
  comm::CommThread comm_;
  comm::Bucketer bucketer_;
  EarlyStopping stopping_;
  TrainState state_;
  Checkpointer checkpointer_;
  data::Prefetcher batches_;
  data::Prefetcher validationBatches_;
  bool streams_;                    // the first epoch takes rows as they come
  bool headerRides_;                // in the step before; else it always travels alone
  std::vector<double> headerSums_;  // what travels alone
  StepHeader header_;               // of the step under way, over all workers
  StepHeader next_;                 // of the one after it
  StepSums sums_;                   // of the step under way
  StepSums totals_;                 // of the epoch, over all workers
  std::vector<double> metricSums_;  // of the epoch, on this worker
  Measures soFar_;
  StepHeader ownHeader_;      // of this worker's part of the step
  StepSums brought_;          // to the step by this worker
  StepSums own_;              // of one pass
  std::vector<double> ones_;  // by output: weight sums of passes that are divided later
  std::vector<const float*> noInputs_;
  struct Statistic {
    size_t first, size;
    float momentum;
  };
  std::vector<Statistic> statistics_;
  std::vector<bool> warnedOf_;  // by output
  int64_t stepsPerEpoch_;       // as the schedule counts them
  double learningRate_ = 0;     // of the last step
  double penalties_ = 0;        // of the epoch: regularisation loss times rows
  TotalRows totalRows_;
  bool countedRows_ = false;
  Position resumed_;  // where the training goes on
  // Of the epoch.
  int64_t ownRows_ = 0;         // of this worker
  int64_t ownBatches_ = 0;      // taken by this worker
  int64_t toSkip_ = 0;          // of those, batches that a restored epoch has still to pass
  double gradientSeconds_ = 0;  // forward, loss and backward
  double lossSeconds_ = 0;
  double updateSeconds_ = 0;
  double reductionSeconds_ = 0;  // waited for reductions
  OwnTime ownTime_;
  double averageSeconds_ = 0;    // averaged parameters
  int64_t bytesSentBefore_ = 0;  // by the communicator, before it
};

}  // namespace bloomery::train
