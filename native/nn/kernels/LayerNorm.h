// Layer normalisation: each row of the last axis by its own mean and variance.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// values, out: [numRows, size]; gamma, beta: [size] or null; moments: [numRows, 2], mean and 1 / deviation, for
// backward.
void layerNormalize(const float* values, int64_t numRows, int64_t size, double epsilon, const float* gamma,
                    const float* beta, float* moments, float* out);

// inputGradients: [numRows, size] or null.
void layerNormInputGradient(const float* values, const float* gradients, int64_t numRows, int64_t size,
                            const float* gamma, const float* moments, float* inputGradients);

// gammaGradient, betaGradient: [size] or null.
void layerNormParameterGradients(const float* values, const float* gradients, int64_t numRows, int64_t size,
                                 const float* moments, float* gammaGradient, float* betaGradient);

}  // namespace bloomery::nn
