#include "optim/Gradients.h"

#include <cmath>

namespace bloomery::optim {

namespace {

struct ScaleKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict values, float factor) {
    for (size_t i = first; i < end; ++i) values[i] *= factor;
  }
};

// Written so that what is not a number stays so and is noticed.
struct ClampKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict values, float limit) {
    for (size_t i = first; i < end; ++i) {
      float value = values[i];
      value = value > limit ? limit : value;
      values[i] = value < -limit ? -limit : value;
    }
  }
};

struct SquaresKernel {
  [[gnu::always_inline]] static inline TwoSums run(size_t first, size_t end, const float* __restrict values) {
    return sumInLanes(first, end, [&](size_t i) __attribute__((always_inline)) {
      double value = values[i];
      return TwoSums{value * value, 0};
    });
  }
};

struct SizeKernel {
  [[gnu::always_inline]] static inline TwoSums run(size_t first, size_t end, const float* __restrict parameters) {
    return sumInLanes(first, end, [&](size_t i) __attribute__((always_inline)) {
      double parameter = parameters[i];
      return TwoSums{std::abs(parameter), parameter * parameter};
    });
  }
};

struct RegulariseKernel {
  [[gnu::always_inline]] static inline TwoSums run(size_t first, size_t end, const float* __restrict parameters,
                                                   float* __restrict gradients, float l1, float twiceL2) {
    for (size_t i = first; i < end; ++i) {
      float parameter = parameters[i];
      float pull = parameter > 0 ? l1 : 0.0f;
      pull = parameter < 0 ? -l1 : pull;
      gradients[i] += pull + twiceL2 * parameter;
    }
    return SizeKernel::run(first, end, parameters);
  }
};

struct AverageKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict averages,
                                                const float* __restrict parameters, float gain) {
    for (size_t i = first; i < end; ++i) averages[i] += (parameters[i] - averages[i]) * gain;
  }
};

struct AddKernel {
  [[gnu::always_inline]] static inline void run(size_t first, size_t end, float* __restrict sums,
                                                const float* __restrict values) {
    for (size_t i = first; i < end; ++i) sums[i] += values[i];
  }
};

}  // namespace

void scale(SimdLevel level, std::span<float> values, float factor) {
  runLoop<ScaleKernel>(level, values.size(), values.data(), factor);
}

void clamp(SimdLevel level, std::span<float> values, float limit) {
  runLoop<ClampKernel>(level, values.size(), values.data(), limit);
}

double sumOfSquares(SliceSums& sums, std::span<const float> values) {
  return sums.over<SquaresKernel>(values.size(), values.data()).first;
}

TwoSums sizeOf(SliceSums& sums, std::span<const float> parameters) {
  return sums.over<SizeKernel>(parameters.size(), parameters.data());
}

TwoSums regularise(SliceSums& sums, std::span<const float> parameters, std::span<float> gradients, float l1, float l2) {
  return sums.over<RegulariseKernel>(parameters.size(), parameters.data(), gradients.data(), l1, 2 * l2);
}

void moveAverage(SimdLevel level, std::span<float> averages, std::span<const float> parameters, float gain) {
  runLoop<AverageKernel>(level, averages.size(), averages.data(), parameters.data(), gain);
}

void addTo(SimdLevel level, std::span<float> sums, std::span<const float> values) {
  runLoop<AddKernel>(level, sums.size(), sums.data(), values.data());
}

}  // namespace bloomery::optim
