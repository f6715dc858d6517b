#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"

namespace bloomery::optim {

namespace {

// Centered: the root is that of the variance, not of the mean square. It cannot be negative but by rounding.
template <bool centered, bool hasMomentum>
struct RmsPropKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict meanSquare,
                                                float* __restrict mean, float* __restrict velocity, StepRates rates,
                                                float rho, float gain, float momentum, float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      meanSquare[i] = rho * meanSquare[i] + gain * (gradient * gradient);
      float spread = meanSquare[i];
      if constexpr (centered) {
        mean[i] = rho * mean[i] + gain * gradient;
        spread -= mean[i] * mean[i];
        spread = spread > 0 ? spread : 0;
      }
      float step = rates.learningRate * gradient / std::sqrt(spread + epsilon);
      if constexpr (hasMomentum) {
        velocity[i] = momentum * velocity[i] + step;
        step = velocity[i];
      }
      parameters[i] = parameters[i] - rates.decay * parameters[i] - step;
    }
  }
};

class RmsPropOptimizer final : public Optimizer {
 public:
  RmsPropOptimizer(const RmsProp& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec),
        level_(level),
        meanSquare_(layout),
        mean_(spec.centered ? layout.numFloats() : 0),
        velocity_(spec.momentum > 0 ? layout.numFloats() : 0) {}

  void beginStep(double learningRate, int64_t) override { rates_ = {learningRate, spec_.weightDecay}; }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    if (spec_.centered) {
      spec_.momentum > 0 ? loop<true, true>(first, parameters, gradients, decays)
                         : loop<true, false>(first, parameters, gradients, decays);
    } else {
      spec_.momentum > 0 ? loop<false, true>(first, parameters, gradients, decays)
                         : loop<false, false>(first, parameters, gradients, decays);
    }
  }

  std::vector<StateArena> state() override {
    std::vector<StateArena> arenas = {{"meanSquare", meanSquare_.all()}};
    if (spec_.centered) arenas.push_back({"mean", mean_.all()});
    if (spec_.momentum > 0) arenas.push_back({"velocity", velocity_.all()});
    return arenas;
  }

 private:
  template <bool centered, bool hasMomentum>
  void loop(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) {
    float* mean = centered ? mean_.all().data() + first : nullptr;
    float* velocity = hasMomentum ? velocity_.all().data() + first : nullptr;
    runLoop<RmsPropKernel<centered, hasMomentum>>(
        level_, gradients.size(), parameters.data(), gradients.data(), meanSquare_.all().data() + first, mean, velocity,
        rates_.forSlice(decays), static_cast<float>(spec_.rho), static_cast<float>(1 - spec_.rho),
        static_cast<float>(spec_.momentum), static_cast<float>(spec_.epsilon));
  }

  RmsProp spec_;
  SimdLevel level_;
  Arena meanSquare_, mean_, velocity_;
  StepRates rates_;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const RmsProp& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<RmsPropOptimizer>(spec, layout, level);
}

}  // namespace bloomery::optim
