// One call of computeLoss as the kernels see it: lines of `classes` values, `positions` of them a row. A kernel sums
// the weighted losses of a range of lines and writes their gradients where they are wanted.
#pragma once

#include <cstdint>

#include "base/SimdLoops.h"
#include "nn/Loss.h"
#include "nn/kernels/RowMath.h"

namespace bloomery::nn {

struct LossCall {
  const float* logits = nullptr;  // [rows, positions, classes]
  Targets targets;
  const float* weights = nullptr;  // [rows]
  float* gradients = nullptr;      // like logits, or null
  int64_t positions = 1;
  int64_t classes = 1;
  double gradientFactor = 0;
  network::Function tail = network::Function::kLinear;
  float keep = 1;   // a target t counts as keep * t + shift
  float shift = 0;  // these two are the label smoothing
  float delta = 1;  // of Huber

  // Targets of `size` elements of a line from `first` on.
  BLOOMERY_INLINE void fillTargets(int64_t line, int64_t first, int64_t size, float* out) const {
    if (targets.values != nullptr) {
      const float* values = targets.values + line * classes + first;
      for (int64_t i = 0; i < size; ++i) out[i] = values[i] * keep + shift;
    } else {
      for (int64_t i = 0; i < size; ++i) out[i] = shift;
      int64_t label = targets.classes[line] - first;
      if (label >= 0 && label < size) out[label] = keep + shift;
    }
  }
};

using LossKernel = double (*)(const LossCall& call, int64_t firstLine, int64_t endLine);

template <typename Kernel>
LossKernel lossKernel(SimdLevel level) {
  return Levels<Kernel>::template chosen<const LossCall&, int64_t, int64_t>(level);
}

LossKernel softmaxCrossEntropyKernel(SimdLevel level);     // on logits, whatever the tail
LossKernel normalisedCrossEntropyKernel(SimdLevel level);  // on sigmoids, made to sum to one
LossKernel binaryCrossEntropyKernel(SimdLevel level);      // on logits, whatever the tail
LossKernel binaryOfProbabilityKernel(SimdLevel level);     // through the tail
LossKernel squaredErrorKernel(SimdLevel level);            // through the tail
LossKernel absoluteErrorKernel(SimdLevel level);           // through the tail
LossKernel huberKernel(SimdLevel level);                   // through the tail

}  // namespace bloomery::nn
