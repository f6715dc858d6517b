// What a trainer tells its owner while it runs: written by the compute thread, read by whoever polls. Holds the first
// failure, too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/Json.h"
#include "base/Log.h"
#include "base/Trace.h"
#include "train/Objective.h"

namespace bloomery::train {

enum class State { kConnecting, kLoading, kTraining, kFinished };

struct EpochRecord {
  int64_t epoch = 0;
  Measures training;
  std::optional<Measures> validation;
  double learningRate = 0;
  int64_t samples = 0;
  int64_t steps = 0;
  double seconds = 0;
  double validationSeconds = 0;
  // On this worker.
  int64_t rows = 0;
  int64_t bytes = 0;          // of these rows, as they are stored
  int64_t rowsAtStart = 0;    // taken in when the first step began, those for validation with them
  double readSeconds = 0;     // the ingesting thread waited for rows, or rows were read back from disk
  double convertSeconds = 0;  // the ingesting thread took rows in
  double waitSeconds = 0;     // the compute thread waited for batches
  double assembleSeconds = 0;
  double computeSeconds = 0;
  double allreduceSeconds = 0;         // gradients were on their way
  double exposedAllreduceSeconds = 0;  // and the compute thread waited for them
  double hiddenAllreduceSeconds = 0;   // and it did not
  int64_t bytesSent = 0;               // to other workers
  int64_t reducedAgain = 0;  // messages of 16 bits whose sum was not finite, and that were added up again as floats
  std::string stops = {};    // why training ends with this epoch before its last; empty: it does not
};

// What an epoch's steps took so far without waiting for other workers: tells who is slow.
struct OwnTime {
  double seconds = 0;
  int64_t steps = 0;

  void add(double stepSeconds) {
    seconds += stepSeconds;
    ++steps;
  }
};

class Progress {
 public:
  // metricNames: of Measures::metrics.
  Progress(int64_t epochs, std::vector<std::string> metricNames)
      : epochs_(epochs), metricNames_(std::move(metricNames)), measures_{0, std::vector<double>(metricNames_.size())} {}

  void enter(State state);
  // Waits till training begins, or fails, or till the time is over.
  void awaitTraining(std::chrono::milliseconds wait);
  // Rows taken in so far, and what the batch before this call took to come and to be taken in.
  void rowsLoaded(int64_t rows, double readSeconds, double convertSeconds);
  void stepsPerEpoch(int64_t steps);
  // `soFar`: losses over all workers, metrics over this worker's rows.
  void stepDone(int64_t epoch, int64_t step, int64_t samples, const Measures& soFar, double epochSeconds,
                const OwnTime& own);
  // "after step 17 of epoch 2"; empty before the first.
  std::string place();
  // Adds what was read and taken in since the epoch before.
  void epochDone(EpochRecord record);
  // Before the first poll; else epochs are forgotten once one told of them.
  void keepHistory() { keepsHistory_ = true; }
  // All epochs that have ended, each as JSON; `restoreHistory` gives back those of an interrupted training, which are
  // then told again.
  std::vector<std::string> history();
  void restoreHistory(std::vector<std::string> epochs);
  // The owner is asked whether to stop: a poll tells so till it has answered.
  void ask();
  void answer(bool stop);
  // Waits so long for the answer; nothing when it has not come.
  std::optional<bool> answerWithin(std::chrono::milliseconds wait);
  // Keeps the first failure only.
  void fail(std::exception_ptr failure);
  void rethrowFailure();

  // Waits till the state changes, an epoch ends or something fails, or till the time is over; then tells all there is
  // to tell, and rethrows the failure when there is one.
  Json poll(std::chrono::milliseconds wait, Log& log, Trace& trace);

 private:
  void changed(std::unique_lock<std::mutex>& lock);

  const int64_t epochs_;
  const std::vector<std::string> metricNames_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool hasNews_ = false;
  State state_ = State::kConnecting;
  int64_t rows_ = 0, epoch_ = 0, step_ = 0, steps_ = 0, samples_ = 0;
  Measures measures_;
  double epochSeconds_ = 0;
  OwnTime own_;
  double readSeconds_ = 0, convertSeconds_ = 0;
  std::vector<std::string> history_;  // of all epochs
  size_t numTold_ = 0;                // epochs that a poll told of
  bool keepsHistory_ = false;
  bool asks_ = false;
  bool stopAnswered_ = false;
  std::exception_ptr failure_;
};

}  // namespace bloomery::train
