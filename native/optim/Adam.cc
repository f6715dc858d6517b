#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"

namespace bloomery::optim {

namespace {

// Keras's form: epsilon is added to the uncorrected root, and the bias corrections are part of the step size.
struct AdamKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict mean,
                                                float* __restrict variance, float stepSize, float decay, float gain1,
                                                float gain2, float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      mean[i] += (gradient - mean[i]) * gain1;
      variance[i] += (gradient * gradient - variance[i]) * gain2;
      parameters[i] = parameters[i] - decay * parameters[i] - mean[i] * stepSize / (std::sqrt(variance[i]) + epsilon);
    }
  }
};

class AdamOptimizer final : public Optimizer {
 public:
  AdamOptimizer(const Adam& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec), level_(level), mean_(layout), variance_(layout) {}

  void beginStep(double learningRate, int64_t step) override {
    double correction = std::sqrt(1 - power(spec_.beta2, step + 1)) / (1 - power(spec_.beta1, step + 1));
    rates_ = {learningRate, spec_.weightDecay};
    stepSize_ = static_cast<float>(learningRate * correction);
  }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    runLoop<AdamKernel>(level_, gradients.size(), parameters.data(), gradients.data(), mean_.all().data() + first,
                        variance_.all().data() + first, stepSize_, rates_.forSlice(decays).decay,
                        static_cast<float>(1 - spec_.beta1), static_cast<float>(1 - spec_.beta2),
                        static_cast<float>(spec_.epsilon));
  }

  std::vector<StateArena> state() override { return {{"mean", mean_.all()}, {"variance", variance_.all()}}; }

 private:
  Adam spec_;
  SimdLevel level_;
  Arena mean_, variance_;
  StepRates rates_;
  float stepSize_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Adam& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<AdamOptimizer>(spec, layout, level);
}

std::unique_ptr<Optimizer> makeOptimizer(const AdamW& spec, const ArenaLayout& layout, SimdLevel level) {
  return makeOptimizer(Adam{spec.learningRate, spec.beta1, spec.beta2, spec.epsilon, spec.weightDecay}, layout, level);
}

}  // namespace bloomery::optim
