// The last floats of the gradient arena, reduced together with the gradients: this step's sums, and the header of the
// next step. So every rank knows, before it computes a step, how many rows and how much weight the whole group brings,
// at the price of no message of its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nn/Loss.h"

namespace bloomery::train {

// What a rank brings to a step, or, once reduced, what all of them bring.
struct StepHeader {
  int64_t rows = 0;
  double weight = 0;
};

class StepTail {
 public:
  static constexpr size_t kNumFloats = 16;

  explicit StepTail(std::span<float> floats) : floats_(floats) {}

  void write(const nn::LossSums& sums, const StepHeader& next) const {
    floats_[kLoss] = static_cast<float>(sums.loss);
    floats_[kWeight] = static_cast<float>(sums.weight);
    floats_[kCorrect] = static_cast<float>(sums.correct);
    floats_[kRows] = static_cast<float>(sums.rows);
    floats_[kNextRows] = static_cast<float>(next.rows);
    floats_[kNextWeight] = static_cast<float>(next.weight);
  }
  nn::LossSums sums() const {
    return {floats_[kLoss], floats_[kWeight], static_cast<int64_t>(floats_[kCorrect]),
            static_cast<int64_t>(floats_[kRows])};
  }
  StepHeader next() const { return {static_cast<int64_t>(floats_[kNextRows]), floats_[kNextWeight]}; }

 private:
  enum Slot : size_t { kLoss, kWeight, kCorrect, kRows, kNextRows, kNextWeight };

  std::span<float> floats_;
};

}  // namespace bloomery::train
