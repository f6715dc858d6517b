#include "nn/Softmax.h"

#include <algorithm>

#include "base/Error.h"
#include "base/SimdLoops.h"
#include "nn/kernels/RowMath.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kWorthThreads = 1 << 15;

struct SoftmaxRow {
  BLOOMERY_INLINE static void run(const float* logits, int64_t classes, float* out) {
    SoftmaxShares shares = sharesOf(logits, classes, out);
    for (int64_t i = 0; i < classes; ++i) out[i] /= shares.sum;
  }
};

struct SigmoidRow {
  BLOOMERY_INLINE static void run(const float* logits, int64_t classes, float* out) {
    for (int64_t i = 0; i < classes; ++i) out[i] = sigmoid(logits[i]);
  }
};

template <typename Kernel>
void runRows(const float* logits, int64_t numRows, int64_t classes, float* out) {
  auto* row = Levels<Kernel>::template chosen<const float*, int64_t, float*>(simdLevel());
#pragma omp parallel for schedule(static) if (numRows * classes > kWorthThreads)
  for (int64_t i = 0; i < numRows; ++i) row(logits + i * classes, classes, out + i * classes);
}

}  // namespace

void softmaxRows(const float* logits, int64_t numRows, int64_t classes, float* out) {
  runRows<SoftmaxRow>(logits, numRows, classes, out);
}

void softmaxRowsBackward(const float* softmax, int64_t numRows, int64_t classes, float* gradients) {
#pragma omp parallel for schedule(static) if (numRows * classes > kWorthThreads)
  for (int64_t row = 0; row < numRows; ++row) {
    const float* values = softmax + row * classes;
    float* gradient = gradients + row * classes;
    float inner = 0;
    for (int64_t i = 0; i < classes; ++i) inner += gradient[i] * values[i];
    for (int64_t i = 0; i < classes; ++i) gradient[i] = values[i] * (gradient[i] - inner);
  }
}

void applyTail(network::Function tail, const float* logits, int64_t numRows, int64_t classes, float* out) {
  switch (tail) {
    case network::Function::kSoftmax:
      return softmaxRows(logits, numRows, classes, out);
    case network::Function::kSigmoid:
      return runRows<SigmoidRow>(logits, numRows, classes, out);
    case network::Function::kLinear:
      if (out != logits) std::copy_n(logits, numRows * classes, out);
      return;
    default:
      throw InternalError(message("Not a tail: ", network::nameOf(tail)));
  }
}

}  // namespace bloomery::nn
