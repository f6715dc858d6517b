// Softmax and sigmoid over rows, for outputs whose tail a plan leaves to the loss and for softmax layers inside a
// network. Rows are split over the OpenMP team of the caller.
#pragma once

#include <cstdint>

#include "network/Layers.h"

namespace bloomery::nn {

// out[row] = softmax(logits[row]) for numRows rows; both [*, classes], may be the same memory.
void softmaxRows(const float* logits, int64_t numRows, int64_t classes, float* out);

// For a softmax inside a network: turns the gradients of its output into those of its input, in place.
void softmaxRowsBackward(const float* softmax, int64_t numRows, int64_t classes, float* gradients);

// The output itself from what it is before its tail (linear, softmax or sigmoid); may be in place.
void applyTail(network::Function tail, const float* logits, int64_t numRows, int64_t classes, float* out);

}  // namespace bloomery::nn
