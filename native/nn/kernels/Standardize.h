// Rows by means and deviations that do not depend on them.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// The factors of `size` statistics, repeated till they fill the `width` values of a row: mean and 1 / deviation. What
// has no variance, or one too small for float32, is divided by 1.
void standardFactors(const float* mean, const float* variance, int64_t size, int64_t width, float* center,
                     float* inverse);

// out = (values - center) * inverse; values, out: [numRows, width]. First the difference: behind a large mean the other
// way round would leave only its rounding.
void standardize(const float* values, int64_t numRows, int64_t width, const float* center, const float* inverse,
                 float* out);

// inputGradients = gradients * inverse.
void standardizeInputGradient(const float* gradients, int64_t numRows, int64_t width, const float* inverse,
                              float* inputGradients);

}  // namespace bloomery::nn
