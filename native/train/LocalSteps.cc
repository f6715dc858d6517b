#include "train/LocalSteps.h"

#include <algorithm>

#include "optim/Gradients.h"

namespace bloomery::train {

namespace {

// A message: each has a deadline of its own.
constexpr size_t kFloats = size_t{1} << 20;

void averageValues(std::span<float> values, float share, comm::Communicator& communicator, comm::Timeout timeout) {
  optim::scale(simdLevel(), values, share);
  for (size_t first = 0; first < values.size(); first += kFloats) {
    communicator.allreduce(values.subspan(first, std::min(kFloats, values.size() - first)), timeout);
  }
}

}  // namespace

LocalSteps::LocalSteps(int64_t steps, const network::ParameterTable& parameters) : steps_(steps) {
  ArenaLayout layout = parameters.layout();
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const network::Parameter& parameter = parameters.parameters()[i];
    if (!parameter.trainable && !parameter.runningMomentum) continue;
    const Slice& slice = layout.slices()[i];
    size_t end = i + 1 < layout.slices().size() ? layout.slices()[i + 1].offset : layout.numFloats();
    bool continues = !runs_.empty() && runs_.back().first + runs_.back().size == slice.offset &&
                     runs_.back().trainable == parameter.trainable;
    if (continues) {
      runs_.back().size += end - slice.offset;
    } else {
      runs_.push_back({slice.offset, end - slice.offset, parameter.trainable});
    }
  }
}

void LocalSteps::stepDone(double ownWeight, double allWeight) {
  ++numSteps_;
  ownWeight_ += ownWeight;
  allWeight_ += allWeight;
}

void LocalSteps::average(std::span<float> parameters, std::span<float> averages, comm::Communicator& communicator,
                         comm::Timeout timeout) {
  float share = static_cast<float>(ownWeight_ / allWeight_);
  for (const Run& run : runs_) {
    averageValues(parameters.subspan(run.first, run.size), share, communicator, timeout);
    if (run.trainable && !averages.empty()) {
      averageValues(averages.subspan(run.first, run.size), share, communicator, timeout);
    }
  }
  numSteps_ = 0;
  ownWeight_ = allWeight_ = 0;
}

}  // namespace bloomery::train
