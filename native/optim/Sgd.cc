#include "optim/Kinds.h"
#include "optim/Loops.h"

namespace bloomery::optim {

namespace {

struct PlainKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, StepRates rates) {
    for (size_t i = first; i < end; ++i) {
      parameters[i] = parameters[i] - rates.decay * parameters[i] - rates.learningRate * gradients[i];
    }
  }
};

struct MomentumKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict velocity,
                                                StepRates rates, float momentum) {
    for (size_t i = first; i < end; ++i) {
      velocity[i] = momentum * velocity[i] - rates.learningRate * gradients[i];
      parameters[i] = parameters[i] - rates.decay * parameters[i] + velocity[i];
    }
  }
};

struct NesterovKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict velocity,
                                                StepRates rates, float momentum) {
    for (size_t i = first; i < end; ++i) {
      float step = rates.learningRate * gradients[i];
      velocity[i] = momentum * velocity[i] - step;
      parameters[i] = parameters[i] - rates.decay * parameters[i] + (momentum * velocity[i] - step);
    }
  }
};

class SgdOptimizer final : public Optimizer {
 public:
  SgdOptimizer(const Sgd& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec), level_(level), velocity_(spec.momentum > 0 ? layout.numFloats() : 0) {}

  void beginStep(double learningRate, int64_t) override { rates_ = {learningRate, spec_.weightDecay}; }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    size_t size = gradients.size();
    StepRates rates = rates_.forSlice(decays);
    if (spec_.momentum == 0) {
      return runLoop<PlainKernel>(level_, size, parameters.data(), gradients.data(), rates);
    }
    float* velocity = velocity_.all().data() + first;
    float momentum = static_cast<float>(spec_.momentum);
    if (spec_.nesterov) {
      runLoop<NesterovKernel>(level_, size, parameters.data(), gradients.data(), velocity, rates, momentum);
    } else {
      runLoop<MomentumKernel>(level_, size, parameters.data(), gradients.data(), velocity, rates, momentum);
    }
  }

  bool restsWithoutGradient() const override { return spec_.momentum == 0 && spec_.weightDecay == 0; }

  std::vector<StateArena> state() override {
    return spec_.momentum > 0 ? std::vector<StateArena>{{"velocity", velocity_.all()}} : std::vector<StateArena>{};
  }

 private:
  Sgd spec_;
  SimdLevel level_;
  Arena velocity_;
  StepRates rates_;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Sgd& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<SgdOptimizer>(spec, layout, level);
}

}  // namespace bloomery::optim
