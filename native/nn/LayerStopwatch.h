// Adds the time of its life to a layer's in a profile, and traces it; does nothing without a profile. For plans, on the
// thread that runs them.
#pragma once

#include <chrono>
#include <string>

#include "nn/Profile.h"

namespace bloomery::nn {

class LayerStopwatch {
 public:
  LayerStopwatch(Profile* profile, size_t layer, double LayerTimes::* seconds, std::string LayerTimes::* span)
      : profile_(profile) {
    if (profile == nullptr) return;
    sum_ = &(profile->layers[layer].*seconds);
    name_ = (profile->layers[layer].*span).c_str();
    start_ = Clock::now();
  }
  ~LayerStopwatch() {
    if (profile_ == nullptr) return;
    Clock::time_point end = Clock::now();
    *sum_ += std::chrono::duration<double>(end - start_).count();
    if (profile_->trace != nullptr) profile_->trace->record(name_, "compute", start_, end);
  }
  LayerStopwatch(const LayerStopwatch&) = delete;
  LayerStopwatch& operator=(const LayerStopwatch&) = delete;

 private:
  using Clock = Trace::Clock;
  Profile* profile_;
  double* sum_ = nullptr;
  const char* name_ = nullptr;
  Clock::time_point start_;
};

}  // namespace bloomery::nn
