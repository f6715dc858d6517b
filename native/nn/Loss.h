// Categorical cross-entropy on logits, fused with its softmax and with the sums that metrics need: one pass over the
// logits. Labels are class indices.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/TensorView.h"

namespace bloomery::nn {

// Sums over the valid rows of one batch; added up over batches and workers they give means over the whole set.
struct LossSums {
  double loss = 0;      // sum of weight * cross-entropy
  double weight = 0;    // sum of weights
  int64_t correct = 0;  // rows whose largest logit is the label's
  int64_t rows = 0;
};

// logits, gradients: [batch, classes]; labels, weights: [numRows]. Each row's gradient is weight / weightSum * (softmax
// - one-hot); rows of `gradients` beyond numRows are set to zero. Pass gradients.data == nullptr to only evaluate.
LossSums softmaxCrossEntropy(const TensorView& logits, std::span<const int32_t> labels, std::span<const float> weights,
                             double weightSum, const TensorView& gradients);

// out[row] = softmax(logits[row]) for numRows rows; both [*, classes], may be the same memory.
void softmaxRows(const float* logits, int64_t numRows, int64_t classes, float* out);

// For a softmax inside a network: turns the gradients of its output into those of its input, in place.
void softmaxRowsBackward(const float* softmax, int64_t numRows, int64_t classes, float* gradients);

}  // namespace bloomery::nn
