#include <cmath>

#include "nn/losses/LossCall.h"

namespace bloomery::nn {

namespace {

// With t the targets, T their sum (1 unless the user's vectors say otherwise) and L = log(sum(exp(logits))):
// loss = T * L - sum(t * logits), gradient = T * softmax - t.
struct SoftmaxCrossEntropy {
  struct TargetSums {
    float total;
    double inner;  // of targets and logits
  };

  BLOOMERY_INLINE static TargetSums sumsOf(const LossCall& call, int64_t line, const float* logits) {
    if (call.targets.classes != nullptr) {
      double inner = call.keep * static_cast<double>(logits[call.targets.classes[line]]);
      if (call.shift != 0) inner += call.shift * static_cast<double>(sumOf(logits, call.classes));
      return {1.0f, inner};
    }
    TargetSums sums{0.0f, 0.0};
    float targets[kBlock];
    for (int64_t first = 0; first < call.classes; first += kBlock) {
      int64_t size = call.classes - first < kBlock ? call.classes - first : kBlock;
      call.fillTargets(line, first, size, targets);
      sums.total += sumOf(targets, size);
      for (int64_t i = 0; i < size; ++i) targets[i] *= logits[first + i];
      sums.inner += sumOf(targets, size);
    }
    return sums;
  }

  // `gradient` holds the softmax, not yet divided by its sum.
  BLOOMERY_INLINE static void finishGradient(const LossCall& call, int64_t line, float sum, float total, float scale,
                                             float* gradient) {
    if (call.targets.classes != nullptr) {
      float shift = call.shift * scale;
      for (int64_t i = 0; i < call.classes; ++i) gradient[i] = gradient[i] / sum * scale - shift;
      gradient[call.targets.classes[line]] -= call.keep * scale;
      return;
    }
    float targets[kBlock];
    for (int64_t first = 0; first < call.classes; first += kBlock) {
      int64_t size = call.classes - first < kBlock ? call.classes - first : kBlock;
      call.fillTargets(line, first, size, targets);
      float* part = gradient + first;
      for (int64_t i = 0; i < size; ++i) part[i] = (total * (part[i] / sum) - targets[i]) * scale;
    }
  }

  BLOOMERY_INLINE static double run(const LossCall& call, int64_t firstLine, int64_t endLine) {
    double loss = 0;
    for (int64_t line = firstLine; line < endLine; ++line) {
      const float* logits = call.logits + line * call.classes;
      double weight = static_cast<double>(call.weights[line / call.positions]) / static_cast<double>(call.positions);
      float* gradient = call.gradients == nullptr ? nullptr : call.gradients + line * call.classes;
      SoftmaxShares shares = sharesOf(logits, call.classes, gradient);
      TargetSums sums = sumsOf(call, line, logits);
      loss += weight * (sums.total * (std::log(static_cast<double>(shares.sum)) + shares.largest) - sums.inner);
      if (gradient == nullptr) continue;
      float scale = static_cast<float>(weight * call.gradientFactor);
      finishGradient(call, line, shares.sum, sums.total, scale, gradient);
    }
    return loss;
  }
};

// With p the sigmoids and S their sum: loss = -sum(t * log(p / S)).
struct NormalisedCrossEntropy {
  BLOOMERY_INLINE static double clippedSigmoid(float logit) {
    double value = sigmoid(logit);
    return value < kSmallest ? kSmallest : value;
  }

  BLOOMERY_INLINE static double run(const LossCall& call, int64_t firstLine, int64_t endLine) {
    double loss = 0;
    for (int64_t line = firstLine; line < endLine; ++line) {
      const float* logits = call.logits + line * call.classes;
      double weight = static_cast<double>(call.weights[line / call.positions]) / static_cast<double>(call.positions);
      double sum = 0, total = 0, inner = 0;
      for (int64_t i = 0; i < call.classes; ++i) {
        float target;
        call.fillTargets(line, i, 1, &target);
        double value = clippedSigmoid(logits[i]);
        sum += value;
        total += target;
        if (target != 0) inner += target * std::log(value);
      }
      loss += weight * (total * std::log(sum) - inner);
      if (call.gradients == nullptr) continue;
      for (int64_t i = 0; i < call.classes; ++i) {
        float target;
        call.fillTargets(line, i, 1, &target);
        double value = clippedSigmoid(logits[i]), slope = total / sum - target / value;
        call.gradients[line * call.classes + i] =
            static_cast<float>(slope * value * (1 - value) * weight * call.gradientFactor);
      }
    }
    return loss;
  }

  static constexpr double kSmallest = 1e-7;  // Keras's
};

}  // namespace

LossKernel softmaxCrossEntropyKernel(SimdLevel level) { return lossKernel<SoftmaxCrossEntropy>(level); }
LossKernel normalisedCrossEntropyKernel(SimdLevel level) { return lossKernel<NormalisedCrossEntropy>(level); }

}  // namespace bloomery::nn
