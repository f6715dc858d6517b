#include <cmath>

#include "optim/Kinds.h"
#include "optim/Loops.h"
#include "tensor/Arena.h"

namespace bloomery::optim {

namespace {

// One square root of a quotient stands for the quotient of two: half the work, and the same but for the last bit.
struct AdadeltaKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict gradients, float* __restrict meanGradient,
                                                float* __restrict meanDelta, float learningRate, float rho, float gain,
                                                float epsilon) {
    for (size_t i = first; i < end; ++i) {
      float gradient = gradients[i];
      meanGradient[i] = rho * meanGradient[i] + gain * (gradient * gradient);
      float delta = std::sqrt((meanDelta[i] + epsilon) / (meanGradient[i] + epsilon)) * gradient;
      meanDelta[i] = rho * meanDelta[i] + gain * (delta * delta);
      parameters[i] -= learningRate * delta;
    }
  }
};

class AdadeltaOptimizer final : public Optimizer {
 public:
  AdadeltaOptimizer(const Adadelta& spec, size_t numFloats, SimdLevel level)
      : spec_(spec), level_(level), meanGradient_(numFloats), meanDelta_(numFloats) {}

  void beginStep(double learningRate) override { learningRate_ = static_cast<float>(learningRate); }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients) override {
    runLoop<AdadeltaKernel>(level_, gradients.size(), parameters.data(), gradients.data(),
                            meanGradient_.all().data() + first, meanDelta_.all().data() + first, learningRate_,
                            static_cast<float>(spec_.rho), static_cast<float>(1 - spec_.rho),
                            static_cast<float>(spec_.epsilon));
  }

 private:
  Adadelta spec_;
  SimdLevel level_;
  Arena meanGradient_, meanDelta_;  // running means of squares
  float learningRate_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Adadelta& spec, size_t numFloats, SimdLevel level) {
  return std::make_unique<AdadeltaOptimizer>(spec, numFloats, level);
}

}  // namespace bloomery::optim
