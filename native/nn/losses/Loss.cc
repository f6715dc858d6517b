#include "nn/Loss.h"

#include <algorithm>
#include <array>

#include "base/Error.h"
#include "nn/losses/LossCall.h"

namespace bloomery::nn {

namespace {

using network::Function;

constexpr int64_t kWorthThreads = 1 << 15;

template <typename Spec>
LossKernel prepareCategorical(const Spec& spec, LossCall& call, SimdLevel level) {
  call.keep = static_cast<float>(1 - spec.labelSmoothing);
  call.shift = static_cast<float>(spec.labelSmoothing / static_cast<double>(call.classes));
  return call.tail == Function::kSigmoid ? normalisedCrossEntropyKernel(level) : softmaxCrossEntropyKernel(level);
}

// Fills in what the loss adds to the call, and chooses its kernel.
LossKernel prepare(const CategoricalCrossentropy& spec, LossCall& call, SimdLevel level) {
  return prepareCategorical(spec, call, level);
}

LossKernel prepare(const SparseCategoricalCrossentropy& spec, LossCall& call, SimdLevel level) {
  return prepareCategorical(spec, call, level);
}

LossKernel prepare(const BinaryCrossentropy& spec, LossCall& call, SimdLevel level) {
  call.keep = static_cast<float>(1 - spec.labelSmoothing);
  call.shift = static_cast<float>(spec.labelSmoothing / 2);
  if (call.tail == Function::kSoftmax) return binaryOfProbabilityKernel(level);
  call.tail = Function::kLinear;
  return binaryCrossEntropyKernel(level);
}

LossKernel prepare(const MeanSquaredError&, LossCall&, SimdLevel level) { return squaredErrorKernel(level); }
LossKernel prepare(const MeanAbsoluteError&, LossCall&, SimdLevel level) { return absoluteErrorKernel(level); }

LossKernel prepare(const Huber& spec, LossCall& call, SimdLevel level) {
  call.delta = static_cast<float>(spec.delta);
  return huberKernel(level);
}

}  // namespace

double computeLoss(const LossSpec& spec, Function tail, const TensorView& logits, const Targets& targets,
                   std::span<const float> weights, double gradientFactor, const TensorView& gradients,
                   SimdLevel level) {
  check(logits.shape.rank() >= 2, "Logits are not [batch, output]: ", logits.shape.toString());
  const int64_t batch = logits.shape[0], numRows = static_cast<int64_t>(weights.size());
  const int64_t width = logits.numElements() / batch, classes = logits.shape.extents().back();
  check(numRows <= batch, "More rows than logits: ", numRows, ", logits ", logits.shape.toString());
  check((targets.classes != nullptr) != (targets.values != nullptr), "Targets are neither classes nor values");
  LossCall call{.logits = logits.data,
                .targets = targets,
                .weights = weights.data(),
                .gradients = gradients.data,
                .positions = width / classes,
                .classes = classes,
                .gradientFactor = gradientFactor,
                .tail = tail};
  if (targets.classes != nullptr) {
    check(call.positions == 1, "Class indices do not fit the logits: ", logits.shape.toString());
    for (int64_t row = 0; row < numRows; ++row) {
      check(targets.classes[row] >= 0 && targets.classes[row] < classes, "Label out of range: ", targets.classes[row],
            ", classes: ", classes);
    }
  }
  LossKernel kernel = std::visit([&](const auto& any) { return prepare(any, call, level); }, spec);

  // Chunks do not depend on the number of threads, so neither do the sums.
  constexpr int64_t kChunks = 64;
  const int64_t lines = numRows * call.positions;
  std::array<double, kChunks> sums;
#pragma omp parallel for schedule(static) if (numRows * width > kWorthThreads)
  for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
    sums[static_cast<size_t>(chunk)] = kernel(call, lines * chunk / kChunks, lines * (chunk + 1) / kChunks);
  }
  if (gradients.data != nullptr) std::fill(gradients.data + numRows * width, gradients.data + batch * width, 0.0f);
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace bloomery::nn
