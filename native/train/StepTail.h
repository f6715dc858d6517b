// The last floats of the gradient arena, reduced together with the gradients: this step's sums, and the header of the
// next step. So every rank knows, before it computes a step, how many rows and how much weight the whole group brings,
// at the price of no message of its own. Rows of one step are counted exactly up to 2^24; whoever adds up steps does it
// in wider types.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bloomery::train {

// What a rank brings to a step, or, once reduced, what all of them bring.
struct StepHeader {
  explicit StepHeader(size_t outputs) : weights(outputs) {}
  bool hasWeight() const {
    for (double weight : weights) {
      if (weight > 0) return true;
    }
    return false;
  }

  int64_t rows = 0;
  int64_t notReady = 0;         // ranks that cannot tell yet: then the rest says nothing
  int64_t checkpoint = 0;       // whether all save their state before it; only rides, never travels alone
  std::vector<double> weights;  // by output
};

// What came of a step, or of several.
struct StepSums {
  explicit StepSums(size_t outputs) : losses(outputs), weights(outputs) {}
  double totalWeight() const {
    double total = 0;
    for (double weight : weights) total += weight;
    return total;
  }
  void clear() {
    rows = 0;
    losses.assign(losses.size(), 0);
    weights.assign(weights.size(), 0);
  }
  StepSums& operator+=(const StepSums& other) {
    rows += other.rows;
    for (size_t i = 0; i < losses.size(); ++i) {
      losses[i] += other.losses[i];
      weights[i] += other.weights[i];
    }
    return *this;
  }

  int64_t rows = 0;
  std::vector<double> losses;   // by output: sum of weight * loss
  std::vector<double> weights;  // by output
};

class StepTail {
 public:
  // A multiple of 16.
  static size_t numFloats(size_t outputs) { return (kOutputs + 3 * outputs + 15) / 16 * 16; }

  explicit StepTail(std::span<float> floats) : floats_(floats) {}

  void write(const StepSums& sums, const StepHeader& next) const {
    floats_[kRows] = static_cast<float>(sums.rows);
    floats_[kNextRows] = static_cast<float>(next.rows);
    floats_[kNextNotReady] = static_cast<float>(next.notReady);
    floats_[kCheckpoint] = static_cast<float>(next.checkpoint);
    for (size_t i = 0; i < sums.losses.size(); ++i) {
      floats_[kOutputs + 3 * i] = static_cast<float>(sums.losses[i]);
      floats_[kOutputs + 3 * i + 1] = static_cast<float>(sums.weights[i]);
      floats_[kOutputs + 3 * i + 2] = static_cast<float>(next.weights[i]);
    }
  }

  void read(StepSums& sums, StepHeader& next) const {
    sums.rows = static_cast<int64_t>(floats_[kRows]);
    next.rows = static_cast<int64_t>(floats_[kNextRows]);
    next.notReady = static_cast<int64_t>(floats_[kNextNotReady]);
    next.checkpoint = static_cast<int64_t>(floats_[kCheckpoint]);
    for (size_t i = 0; i < sums.losses.size(); ++i) {
      sums.losses[i] = floats_[kOutputs + 3 * i];
      sums.weights[i] = floats_[kOutputs + 3 * i + 1];
      next.weights[i] = floats_[kOutputs + 3 * i + 2];
    }
  }

 private:
  // Then loss, weight and next weight of each output.
  enum Slot : size_t { kRows, kNextRows, kNextNotReady, kCheckpoint, kOutputs };

  std::span<float> floats_;
};

}  // namespace bloomery::train
