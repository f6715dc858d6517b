// How long a worker waits for the others in one operation: stepTimeout at least, and several times the longest of the
// last steps. Workers take their steps together, so that each measures about the same time and nothing has to be
// agreed. Written on the compute thread, read on any.
#pragma once

#include <array>
#include <atomic>

#include "comm/Communicator.h"

namespace bloomery::train {

class StepDeadline {
 public:
  static constexpr int kTimes = 5;
  static constexpr size_t kSteps = 8;

  explicit StepDeadline(double floorSeconds);

  comm::Timeout timeout() const { return comm::Timeout(millis_.load()); }
  // A step that is under way has taken so long already: the others may need several times as much.
  void stepTakes(double seconds);
  void stepTook(double seconds);

 private:
  void set(double seconds);

  const double floor_;
  std::array<double, kSteps> last_ = {};
  size_t next_ = 0;
  std::atomic<int64_t> millis_;
};

}  // namespace bloomery::train
