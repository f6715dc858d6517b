// Inference with one set of weights for any number of threads: each call borrows a session (plans and buffers of its
// own) from a pool. Owned by whoever opened it; calls under way must have returned before it is destroyed.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "train/TaskSpec.h"

namespace bloomery::train {

class Predictor {
 public:
  Predictor(const std::string& task, std::span<const std::byte> weights);
  ~Predictor();

  // Predicts for the rows of one Arrow batch; both C structs are consumed. raw (before a final softmax or sigmoid) and
  // probability (behind it) are the caller's memory of rows * elements of all outputs floats each: a row's outputs lie
  // one after the other. A null pointer is left out.
  void predict(void* arrowSchema, void* arrowArray, int partition, int64_t firstRow, float* raw, float* probability);

 private:
  struct Session;
  std::unique_ptr<Session> borrow();
  void giveBack(std::unique_ptr<Session> session);

  TaskSpec task_;
  ArenaLayout layout_;
  Arena parameters_;
  std::unique_ptr<nn::FixedParameters> fixed_;  // of those, for all sessions; or null
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace bloomery::train
