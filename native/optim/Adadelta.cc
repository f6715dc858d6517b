#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"

namespace bloomery::optim {

namespace {

// One square root of a quotient stands for the quotient of two: half the work, and the same but for the last bit.
struct AdadeltaKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict meanGradient,
                                                float* __restrict meanDelta, StepRates rates, float rho, float gain,
                                                float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      meanGradient[i] = rho * meanGradient[i] + gain * (gradient * gradient);
      float delta = std::sqrt((meanDelta[i] + epsilon) / (meanGradient[i] + epsilon)) * gradient;
      meanDelta[i] = rho * meanDelta[i] + gain * (delta * delta);
      parameters[i] = parameters[i] - rates.decay * parameters[i] - rates.learningRate * delta;
    }
  }
};

class AdadeltaOptimizer final : public Optimizer {
 public:
  AdadeltaOptimizer(const Adadelta& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec), level_(level), meanGradient_(layout), meanDelta_(layout) {}

  void beginStep(double learningRate, int64_t) override { rates_ = {learningRate, spec_.weightDecay}; }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    runLoop<AdadeltaKernel>(level_, gradients.size(), parameters.data(), gradients.data(),
                            meanGradient_.all().data() + first, meanDelta_.all().data() + first,
                            rates_.forSlice(decays), static_cast<float>(spec_.rho), static_cast<float>(1 - spec_.rho),
                            static_cast<float>(spec_.epsilon));
  }

  std::vector<StateArena> state() override {
    return {{"meanGradient", meanGradient_.all()}, {"meanDelta", meanDelta_.all()}};
  }

 private:
  Adadelta spec_;
  SimdLevel level_;
  Arena meanGradient_, meanDelta_;  // running means of squares
  StepRates rates_;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Adadelta& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<AdadeltaOptimizer>(spec, layout, level);
}

}  // namespace bloomery::optim
