#include <algorithm>
#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"

namespace bloomery::optim {

namespace {

struct AdagradKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict accumulator,
                                                StepRates rates, float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      accumulator[i] += gradient * gradient;
      parameters[i] = parameters[i] - rates.decay * parameters[i] -
                      rates.learningRate * gradient / std::sqrt(accumulator[i] + epsilon);
    }
  }
};

class AdagradOptimizer final : public Optimizer {
 public:
  AdagradOptimizer(const Adagrad& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec), level_(level), accumulator_(layout) {
    std::ranges::fill(accumulator_.all(), static_cast<float>(spec.initialAccumulatorValue));
  }

  void beginStep(double learningRate, int64_t) override { rates_ = {learningRate, spec_.weightDecay}; }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    runLoop<AdagradKernel>(level_, gradients.size(), parameters.data(), gradients.data(),
                           accumulator_.all().data() + first, rates_.forSlice(decays),
                           static_cast<float>(spec_.epsilon));
  }

  bool restsWithoutGradient() const override { return spec_.weightDecay == 0; }

  std::vector<StateArena> state() override { return {{"accumulator", accumulator_.all()}}; }

 private:
  Adagrad spec_;
  SimdLevel level_;
  Arena accumulator_;  // sum of squares
  StepRates rates_;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Adagrad& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<AdagradOptimizer>(spec, layout, level);
}

}  // namespace bloomery::optim
