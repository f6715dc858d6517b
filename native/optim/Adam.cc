#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"
#include "tensor/Arena.h"

namespace bloomery::optim {

namespace {

// Keras's form: epsilon is added to the uncorrected root, and the bias corrections are part of the step size.
struct AdamKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict mean,
                                                float* __restrict variance, float stepSize, float gain1, float gain2,
                                                float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      mean[i] += (gradient - mean[i]) * gain1;
      variance[i] += (gradient * gradient - variance[i]) * gain2;
      parameters[i] -= mean[i] * stepSize / (std::sqrt(variance[i]) + epsilon);
    }
  }
};

class AdamOptimizer final : public Optimizer {
 public:
  AdamOptimizer(const Adam& spec, size_t numFloats, SimdLevel level)
      : spec_(spec), level_(level), mean_(numFloats), variance_(numFloats) {}

  void beginStep(double learningRate) override {
    double step = static_cast<double>(++numSteps_);
    double correction = std::sqrt(1 - std::pow(spec_.beta2, step)) / (1 - std::pow(spec_.beta1, step));
    stepSize_ = static_cast<float>(learningRate * correction);
  }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients) override {
    runLoop<AdamKernel>(level_, gradients.size(), parameters.data(), gradients.data(), mean_.all().data() + first,
                        variance_.all().data() + first, stepSize_, static_cast<float>(1 - spec_.beta1),
                        static_cast<float>(1 - spec_.beta2), static_cast<float>(spec_.epsilon));
  }

 private:
  Adam spec_;
  SimdLevel level_;
  Arena mean_, variance_;
  int64_t numSteps_ = 0;
  float stepSize_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Adam& spec, size_t numFloats, SimdLevel level) {
  return std::make_unique<AdamOptimizer>(spec, numFloats, level);
}

}  // namespace bloomery::optim
