#include "train/StepDeadline.h"

#include <algorithm>

namespace bloomery::train {

StepDeadline::StepDeadline(double floorSeconds) : floor_(floorSeconds) { set(0); }

void StepDeadline::stepTakes(double seconds) { set(std::max(seconds, *std::ranges::max_element(last_))); }

void StepDeadline::stepTook(double seconds) {
  last_[next_++ % kSteps] = seconds;
  set(*std::ranges::max_element(last_));
}

void StepDeadline::set(double seconds) { millis_ = static_cast<int64_t>(std::max(floor_, kTimes * seconds) * 1000); }

}  // namespace bloomery::train
