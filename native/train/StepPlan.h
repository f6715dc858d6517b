// What a worker's steps compute with: the plan of the network, and the gradients that it fills. Needs no other worker,
// so that it can be made, on any thread, while the workers still meet; the compute thread has it then.
#pragma once

#include <memory>

#include "comm/Communicator.h"
#include "nn/Plan.h"
#include "tensor/GradientRows.h"
#include "train/SparseSlices.h"
#include "train/StepDeadline.h"
#include "train/StepProfile.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

// Synchronised statistics, in the middle of a pass, while the comm thread is idle. Between these two, which it borrows.
class GroupReducer final : public Reducer {
 public:
  void join(comm::Communicator& communicator, const StepDeadline& deadline) {
    communicator_ = &communicator;
    deadline_ = &deadline;
  }
  void add(std::span<double> values) override;
  double seconds() const { return seconds_; }  // spent so far

 private:
  comm::Communicator* communicator_ = nullptr;
  const StepDeadline* deadline_ = nullptr;
  double seconds_ = 0;
};

struct StepPlan {
  // Borrows task, parameters and profile (or nullptr). ranks: workers of the training; sparseFloats: see sparseSlices.
  StepPlan(const TaskSpec& task, const Arena& parameters, int ranks, StepProfile* profile,
           int64_t sparseFloats = kSparseFloats);
  StepPlan(const StepPlan&) = delete;
  StepPlan& operator=(const StepPlan&) = delete;

  int64_t batchSize;
  ArenaLayout layout;  // of parameters and gradients
  Arena gradients;     // with the StepTail and the bucketer's counts behind the last slice
  GradientRows rows;   // of the gradients
  GroupReducer reducer;
  std::unique_ptr<nn::Plan> plan;
};

}  // namespace bloomery::train
