// Batch normalisation in four passes over memory: two forward (moments, output) and two backward (sums, input
// gradient), with a ReLU behind it done on the way. Only the valid rows of a batch count. Works on any layout in which
// channels lie side by side in blocks.
#pragma once

#include <cstdint>

namespace bloomery::nn {

struct BatchNormShape {
  int64_t blocks = 0;  // of channels, each [spatial, block] in a row
  int64_t spatial = 0;
  int64_t block = 0;  // channels side by side

  int64_t channels() const { return blocks * block; }
  int64_t rowSize() const { return blocks * spatial * block; }
  // Doubles that the passes over moments and sums need for this many rows.
  int64_t scratchSize(int64_t rows) const { return rows * channels() * 2; }
};

// A ReLU behind the normalisation: which values it lets through, [channels] each, is told from the input as the output
// was made from it. Null pointers: there is none.
struct ReluBehind {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

// mean, variance: [channels], the biased variance.
void batchMoments(const BatchNormShape& shape, const float* values, int64_t numRows, float* mean, float* variance,
                  double* scratch);

// out = values * scale + shift for numRows rows, cut off at zero where `relu`; scale, shift: [channels].
void batchNormalize(const BatchNormShape& shape, const float* values, int64_t numRows, const float* scale,
                    const float* shift, bool relu, float* out);

// sums: of the gradient [channels]; sumsWithValues: of gradient * (value - mean).
void batchNormSums(const BatchNormShape& shape, const float* values, const float* gradients, const ReluBehind& relu,
                   int64_t numRows, const float* mean, float* sums, float* sumsWithValues, double* scratch);

// out = gradient * a + value * b + c, each [channels], and `addend`, laid out as the values, where that is given.
void batchNormInputGradient(const BatchNormShape& shape, const float* values, const float* gradients,
                            const ReluBehind& relu, const float* addend, int64_t numRows, const float* a,
                            const float* b, const float* c, float* out);

}  // namespace bloomery::nn
