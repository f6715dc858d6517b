#include <algorithm>
#include <cmath>

#include "base/Error.h"
#include "optim/Kinds.h"
#include "optim/Loops.h"
#include "optim/Sums.h"

namespace bloomery::optim {

namespace {

[[gnu::always_inline]] inline float direction(float mean, float variance, float correction1, float correction2,
                                              float epsilon) {
  return mean * correction1 / (std::sqrt(variance * correction2) + epsilon);
}

// Decays the parameter and moves mean and variance on; sums the squares of the parameter and of its direction.
struct DirectionKernel {
  [[gnu::always_inline]] static inline TwoSums run(size_t first, size_t end, float* __restrict parameters,
                                                   const float* __restrict gradients, float* __restrict mean,
                                                   float* __restrict variance, float decay, float gain1, float gain2,
                                                   float correction1, float correction2, float epsilon) {
    return sumInLanes(first, end, [&](size_t i) __attribute__((always_inline)) {
      float gradient = gradients[i];
      mean[i] += (gradient - mean[i]) * gain1;
      variance[i] += (gradient * gradient - variance[i]) * gain2;
      parameters[i] -= decay * parameters[i];
      double parameter = parameters[i], step = direction(mean[i], variance[i], correction1, correction2, epsilon);
      return TwoSums{parameter * parameter, step * step};
    });
  }
};

// The direction once more: cheaper than an arena to keep it in.
struct StepKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict parameters,
                                                const float* __restrict mean, const float* __restrict variance,
                                                float stepSize, float correction1, float correction2, float epsilon) {
    for (size_t i = first; i < end; ++i) {
      parameters[i] -= stepSize * direction(mean[i], variance[i], correction1, correction2, epsilon);
    }
  }
};

class LambOptimizer final : public Optimizer {
 public:
  LambOptimizer(const Lamb& spec, const ArenaLayout& layout, SimdLevel level)
      : spec_(spec), slices_(layout.slices()), level_(level), mean_(layout), variance_(layout), sums_(layout, level) {}

  void beginStep(double learningRate, int64_t step) override {
    correction1_ = static_cast<float>(1 / (1 - power(spec_.beta1, step + 1)));
    correction2_ = static_cast<float>(1 / (1 - power(spec_.beta2, step + 1)));
    learningRate_ = learningRate;
    rates_ = {learningRate, spec_.weightDecay};
  }

  void update(size_t first, std::span<float> parameters, std::span<const float> gradients, bool decays) override {
    auto slice = std::ranges::lower_bound(slices_, first, {}, &Slice::offset);
    for (; slice != slices_.end() && slice->offset < first + gradients.size(); ++slice) {
      size_t offset = slice->offset - first;
      check(offset + slice->size <= gradients.size(), "Range ends inside a slice: ", slice->name);
      updateSlice(*slice, parameters.data() + offset, gradients.data() + offset, rates_.forSlice(decays).decay);
    }
  }

  std::vector<StateArena> state() override { return {{"mean", mean_.all()}, {"variance", variance_.all()}}; }

 private:
  void updateSlice(const Slice& slice, float* parameters, const float* gradients, float decay) {
    float* mean = mean_.all().data() + slice.offset;
    float* variance = variance_.all().data() + slice.offset;
    float epsilon = static_cast<float>(spec_.epsilon);
    TwoSums squares = sums_.over<DirectionKernel>(
        slice.size, parameters, gradients, mean, variance, decay, static_cast<float>(1 - spec_.beta1),
        static_cast<float>(1 - spec_.beta2), correction1_, correction2_, epsilon);
    bool comparable = squares.first > 0 && squares.second > 0;
    double trust = comparable ? std::sqrt(squares.first) / std::sqrt(squares.second) : 1.0;
    runLoop<StepKernel>(level_, slice.size, parameters, static_cast<const float*>(mean),
                        static_cast<const float*>(variance), static_cast<float>(learningRate_ * trust), correction1_,
                        correction2_, epsilon);
  }

  Lamb spec_;
  std::vector<Slice> slices_;
  SimdLevel level_;
  Arena mean_, variance_;
  SliceSums sums_;
  double learningRate_ = 0;
  StepRates rates_;
  float correction1_ = 1, correction2_ = 1;
};

}  // namespace

std::unique_ptr<Optimizer> makeOptimizer(const Lamb& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::make_unique<LambOptimizer>(spec, layout, level);
}

}  // namespace bloomery::optim
