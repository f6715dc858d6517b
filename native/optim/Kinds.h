// The optimizers by kind; everybody else makes them through makeOptimizer.
#pragma once

#include <cstdint>
#include <memory>

#include "base/Simd.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

std::unique_ptr<Optimizer> makeOptimizer(const Sgd& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Adam& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const AdamW& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Adadelta& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Adagrad& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const RmsProp& spec, const ArenaLayout& layout, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Lamb& spec, const ArenaLayout& layout, SimdLevel level);

// What every optimizer is told at the start of a step.
struct StepRates {
  float learningRate = 0;
  float decay = 0;  // the share that a parameter loses

  StepRates() = default;
  StepRates(double rate, double weightDecay)
      : learningRate(static_cast<float>(rate)), decay(static_cast<float>(rate * weightDecay)) {}
  StepRates forSlice(bool decays) const {
    StepRates rates = *this;
    if (!decays) rates.decay = 0;
    return rates;
  }
};

// base ^ exponent by multiplication alone, so that it has the same bits on every machine; std::pow has not.
inline double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

}  // namespace bloomery::optim
