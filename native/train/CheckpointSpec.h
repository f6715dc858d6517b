// When a training saves its state, as the task JSON says it in "checkpoint". Rank 0 decides by it for all; the end of
// the training is always saved. Says nothing of where the state goes, which is the owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/Json.h"

namespace bloomery::train {

// What comes first counts.
struct CheckpointSpec {
  std::optional<int64_t> epochs, steps;
  std::optional<double> minutes;

  static CheckpointSpec fromJson(const Json& json);
};

// Counts since the last checkpoint. Used on the compute thread.
class CheckpointClock {
 public:
  explicit CheckpointClock(const CheckpointSpec& spec) : spec_(spec) {}

  void stepDone() { ++steps_; }
  void epochDone() { ++epochs_; }
  void saved();
  bool isDue() const;

 private:
  using Clock = std::chrono::steady_clock;

  CheckpointSpec spec_;
  int64_t epochs_ = 0, steps_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace bloomery::train
