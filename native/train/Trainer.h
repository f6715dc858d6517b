// One worker of a training: takes rows from its owner's thread and trains on threads of its own (compute, prefetch,
// comm). The owner opens it, connects it to the others, feeds it, polls it and takes the weights. Destroying it at any
// time stops and joins everything. Another one may take over the rows of a trainer that is finished.
#pragma once

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/gloo/GlooConnector.h"
#include "train/LoadedRows.h"
#include "train/Progress.h"
#include "train/TaskSpec.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {

class Trainer {
 public:
  // initialWeights: safetensors, or empty for the initializers' values, which layers of other names keep.
  Trainer(const std::string& task, std::span<const std::byte> initialWeights);
  // Trains on the rows of one that is finished; none are to be fed here. Their tasks must keep rows alike.
  Trainer(const std::string& task, std::span<const std::byte> initialWeights, Trainer& finished);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // What this rank tells the others; empty for a single worker. While they meet, the plan of a step is made, unless
  // they have to agree first on the instructions that it is made for.
  std::string address();
  // Before `address`, `connect` or `start`: fills the profile, which must outlive the trainer.
  void profileInto(StepProfile& profile) { profile_ = &profile; }
  // Before the last two: bytes of a checkpoint, in pieces, and then what is taken up of it: everything, or the weights.
  // UserError when it is of other settings.
  SavedState& saved() { return checkpoints_.saved; }
  void restore();
  void restoreWeights();
  // Waits till all are connected, then starts the compute thread. credentials: as `comm::issueCredentials` made them
  // for this rank; empty for a single worker.
  void connect(const std::vector<std::string>& addresses, const std::string& credentials);
  // The same with a communicator that is connected already, and steps of the caller's choice: for tests and tools.
  void start(std::unique_ptr<comm::Communicator> communicator, StepRowsOfEpoch stepRows);

  // Bytes that rows take at most; nothing: as many as there are.
  std::optional<int64_t> dataMemory() const { return task_.rows.memory; }
  void ingestSchema(void* arrowSchema);
  void ingest(void* arrowArray, int partition, int64_t firstRow);
  void finishIngest();

  Json poll(std::chrono::milliseconds wait);  // as Progress::poll
  Json takeLog();                             // its log alone: for when there is nothing else to poll yet
  // When a poll says that the trainer asks, after an epoch of a task with worker.asksAfterEpoch.
  void answer(bool stop) { progress_.answer(stop); }
  std::string weights();  // after the state "finished"
  // Where a task with "checkpoint" leaves its state; a thread of the owner has to take and release it.
  CheckpointSlot& checkpoints() { return checkpoints_.slot; }
  void cancel();

 private:
  Trainer(TaskSpec task, const std::string& text, std::span<const std::byte> initialWeights,
          std::shared_ptr<LoadedRows> rows);
  void beginWith(std::span<const std::byte> weights);
  void planAhead();
  void giveWayToFirstStep();
  void compute(const StepRowsOfEpoch& stepRows);
  void fail(std::exception_ptr failure);

  TaskSpec task_;
  ArenaLayout layout_;
  Arena parameters_;
  std::shared_ptr<LoadedRows> rows_;  // shared with trainers before and after it
  Cancellation cancellation_;
  Log log_;
  Trace trace_;
  Progress progress_;
  Checkpoints checkpoints_;
  // For the ingesting thread.
  Trace::Clock::time_point lastIngest_ = Trace::Clock::now();
  int64_t rowsOfFirstStep_;
  bool gaveWay_ = false;
  bool restored_;       // began with weights that were given
  StepProfile traced_;  // the names of its layers live as long as the trace
  StepProfile* profile_ = nullptr;
  std::unique_ptr<comm::GlooConnector> connector_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::mutex mutex_;
  std::atomic<bool> finished_{false};
  std::future<std::unique_ptr<StepPlan>> plan_;  // where it is made ahead
  std::thread planning_, thread_;
};

}  // namespace bloomery::train
