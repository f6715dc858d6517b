#include "nn/kernels/Standardize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/kernels/Items.h"

namespace bloomery::nn {

namespace {

struct StandardizeRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* values, int64_t width,
                                                const float* center, const float* inverse, float* out) {
    for (int64_t row = first; row < end; ++row) {
      const float* x = values + row * width;
      float* y = out + row * width;
      for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - center[i]) * inverse[i];
    }
  }
};

struct ScaleRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* gradients, int64_t width,
                                                const float* inverse, float* out) {
    for (int64_t row = first; row < end; ++row) {
      const float* outer = gradients + row * width;
      float* inner = out + row * width;
      for (int64_t i = 0; i < width; ++i) inner[i] = outer[i] * inverse[i];
    }
  }
};

}  // namespace

void standardFactors(const float* mean, const float* variance, int64_t size, int64_t width, float* center,
                     float* inverse) {
  for (int64_t i = 0; i < size; ++i) {
    center[i] = mean[i];
    inverse[i] = variance[i] < std::numeric_limits<float>::min() ? 1.0f : 1 / std::sqrt(variance[i]);
  }
  for (int64_t first = size; first < width; first += size) {
    std::copy_n(center, size, center + first);
    std::copy_n(inverse, size, inverse + first);
  }
}

void standardize(const float* values, int64_t numRows, int64_t width, const float* center, const float* inverse,
                 float* out) {
  runItems<StandardizeRow>(numRows, numRows * width, values, width, center, inverse, out);
}

void standardizeInputGradient(const float* gradients, int64_t numRows, int64_t width, const float* inverse,
                              float* inputGradients) {
  runItems<ScaleRow>(numRows, numRows * width, gradients, width, inverse, inputGradients);
}

}  // namespace bloomery::nn
