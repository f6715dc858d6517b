#include "optim/Kinds.h"
#include "optim/Loops.h"
#include "tensor/Arena.h"

namespace bloomery::optim {

namespace {

struct PlainKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float learningRate) {
    for (size_t i = first; i < end; ++i) parameters[i] -= learningRate * gradients[i];
  }
};

struct MomentumKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict velocity,
                                                float learningRate, float momentum) {
    for (size_t i = first; i < end; ++i) {
      velocity[i] = momentum * velocity[i] - learningRate * gradients[i];
      parameters[i] += velocity[i];
    }
  }
};

struct NesterovKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict velocity,
                                                float learningRate, float momentum) {
    for (size_t i = first; i < end; ++i) {
      float step = learningRate * gradients[i];
      velocity[i] = momentum * velocity[i] - step;
      parameters[i] += momentum * velocity[i] - step;
    }
  }
};

class SgdOptimizer final : public Optimizer {
 public:
  SgdOptimizer(const Sgd& spec, size_t numFloats, SimdLevel level)
      : spec_(spec), level_(level), velocity_(spec.momentum > 0 ? numFloats : 0) {}

  void beginStep(double learningRate) override { learningRate_ = static_cast<float>(learningRate); }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients) override {
    size_t size = gradients.size();
    if (spec_.momentum == 0) {
      return runLoop<PlainKernel>(level_, size, parameters.data(), gradients.data(), learningRate_);
    }
    float* velocity = velocity_.all().data() + first;
    float momentum = static_cast<float>(spec_.momentum);
    if (spec_.nesterov) {
      runLoop<NesterovKernel>(level_, size, parameters.data(), gradients.data(), velocity, learningRate_, momentum);
    } else {
      runLoop<MomentumKernel>(level_, size, parameters.data(), gradients.data(), velocity, learningRate_, momentum);
    }
  }

 private:
  Sgd spec_;
  SimdLevel level_;
  Arena velocity_;
  float learningRate_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Sgd& spec, size_t numFloats, SimdLevel level) {
  return std::make_unique<SgdOptimizer>(spec, numFloats, level);
}

}  // namespace bloomery::optim
