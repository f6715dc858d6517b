#include "nn/kernels/LayerNorm.h"

#include <algorithm>
#include <cmath>

#include "nn/kernels/Items.h"

namespace bloomery::nn {

namespace {

// Eight sums side by side, so that the loop is a vector loop without reordering anybody's arithmetic.
template <typename Term>
[[gnu::always_inline]] inline double sumOf(int64_t size, Term term) {
  float parts[8] = {};
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) parts[lane] += term(i + lane);
  }
  double sum = 0;
  for (; i < size; ++i) sum += term(i);
  for (float part : parts) sum += part;
  return sum;
}

struct NormalizeRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* values, int64_t size,
                                                double epsilon, const float* gamma, const float* beta, float* moments,
                                                float* out) {
    for (int64_t row = first; row < end; ++row) {
      const float* x = values + row * size;
      float* y = out + row * size;
      float mean = static_cast<float>(sumOf(size, [&](int64_t i) { return x[i]; }) / static_cast<double>(size));
      double variance =
          sumOf(size, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / static_cast<double>(size);
      float inverse = static_cast<float>(1 / std::sqrt(variance + epsilon));
      moments[2 * row] = mean;
      moments[2 * row + 1] = inverse;
      for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean) * inverse;
      if (gamma != nullptr) {
        for (int64_t i = 0; i < size; ++i) y[i] *= gamma[i];
      }
      if (beta != nullptr) {
        for (int64_t i = 0; i < size; ++i) y[i] += beta[i];
      }
    }
  }
};

struct InputGradientRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* values, const float* gradients,
                                                int64_t size, const float* gamma, const float* moments, float* out) {
    for (int64_t row = first; row < end; ++row) {
      const float *x = values + row * size, *outer = gradients + row * size;
      float* inner = out + row * size;
      float mean = moments[2 * row], inverse = moments[2 * row + 1];
      for (int64_t i = 0; i < size; ++i) inner[i] = gamma == nullptr ? outer[i] : outer[i] * gamma[i];
      double count = static_cast<double>(size);
      float center = static_cast<float>(sumOf(size, [&](int64_t i) { return inner[i]; }) / count);
      float slope =
          static_cast<float>(sumOf(size, [&](int64_t i) { return inner[i] * ((x[i] - mean) * inverse); }) / count);
      for (int64_t i = 0; i < size; ++i) inner[i] = inverse * (inner[i] - center - (x[i] - mean) * inverse * slope);
    }
  }
};

}  // namespace

void layerNormalize(const float* values, int64_t numRows, int64_t size, double epsilon, const float* gamma,
                    const float* beta, float* moments, float* out) {
  runItems<NormalizeRow>(numRows, numRows * size, values, size, epsilon, gamma, beta, moments, out);
}

void layerNormInputGradient(const float* values, const float* gradients, int64_t numRows, int64_t size,
                            const float* gamma, const float* moments, float* inputGradients) {
  runItems<InputGradientRow>(numRows, numRows * size, values, gradients, size, gamma, moments, inputGradients);
}

void layerNormParameterGradients(const float* values, const float* gradients, int64_t numRows, int64_t size,
                                 const float* moments, float* gammaGradient, float* betaGradient) {
  if (gammaGradient != nullptr) std::fill_n(gammaGradient, size, 0.0f);
  if (betaGradient != nullptr) std::fill_n(betaGradient, size, 0.0f);
  for (int64_t row = 0; row < numRows; ++row) {
    const float *x = values + row * size, *outer = gradients + row * size;
    float mean = moments[2 * row], inverse = moments[2 * row + 1];
    if (gammaGradient != nullptr) {
      for (int64_t i = 0; i < size; ++i) gammaGradient[i] += outer[i] * ((x[i] - mean) * inverse);
    }
    if (betaGradient != nullptr) {
      for (int64_t i = 0; i < size; ++i) betaGradient[i] += outer[i];
    }
  }
}

}  // namespace bloomery::nn
