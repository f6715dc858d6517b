#include <cmath>

#include "nn/losses/LossCall.h"

namespace bloomery::nn {

namespace {

using network::Function;

// One element's loss and its slope, as functions of the prediction and the target.
struct SquaredError {
  BLOOMERY_INLINE static float loss(float value, float target, float) { return (value - target) * (value - target); }
  BLOOMERY_INLINE static float slope(float value, float target, float) { return 2.0f * (value - target); }
};

struct AbsoluteError {
  BLOOMERY_INLINE static float loss(float value, float target, float) { return std::fabs(value - target); }
  BLOOMERY_INLINE static float slope(float value, float target, float) {
    return (value > target ? 1.0f : 0.0f) - (value < target ? 1.0f : 0.0f);
  }
};

struct HuberError {
  BLOOMERY_INLINE static float loss(float value, float target, float delta) {
    float error = std::fabs(value - target);
    return error <= delta ? 0.5f * error * error : delta * error - 0.5f * delta * delta;
  }
  BLOOMERY_INLINE static float slope(float value, float target, float delta) {
    float error = value - target;
    error = error > delta ? delta : error;
    return error < -delta ? -delta : error;
  }
};

// `value` is the logit.
struct BinaryOfLogit {
  BLOOMERY_INLINE static float loss(float value, float target, float) {
    float magnitude = std::fabs(value);
    return (value > 0 ? value : 0.0f) - value * target + std::log1p(exponential(-magnitude));
  }
  BLOOMERY_INLINE static float slope(float value, float target, float) { return sigmoid(value) - target; }
};

// `value` is a probability, kept away from 0 and 1 as Keras does.
struct BinaryOfProbability {
  static constexpr float kSmallest = 1e-7f;
  BLOOMERY_INLINE static float clipped(float value) {
    value = value < kSmallest ? kSmallest : value;
    return value > 1.0f - kSmallest ? 1.0f - kSmallest : value;
  }
  BLOOMERY_INLINE static float loss(float value, float target, float) {
    value = clipped(value);
    return -(target * std::log(value) + (1.0f - target) * std::log(1.0f - value));
  }
  BLOOMERY_INLINE static float slope(float value, float target, float) {
    value = clipped(value);
    return (value - target) / (value * (1.0f - value));
  }
};

// The mean over a line's elements, through the tail. A line is worked on in blocks, so that nothing is allocated; a
// softmax's gradient needs a second pass, since every element takes part in every other's.
template <typename Element>
struct Elementwise {
  BLOOMERY_INLINE static void predict(const LossCall& call, const float* logits, const SoftmaxShares& shares,
                                      int64_t size, float* out) {
    if (call.tail == Function::kSoftmax) {
      for (int64_t i = 0; i < size; ++i) out[i] = exponential(logits[i] - shares.largest) / shares.sum;
    } else if (call.tail == Function::kSigmoid) {
      for (int64_t i = 0; i < size; ++i) out[i] = sigmoid(logits[i]);
    } else {
      for (int64_t i = 0; i < size; ++i) out[i] = logits[i];
    }
  }

  // Adds up the losses of a line. The gradient becomes complete, or, before a softmax, the slopes alone; then their
  // inner product with the softmax is returned, too.
  struct LineSums {
    double loss = 0;
    float inner = 0;
  };
  BLOOMERY_INLINE static LineSums firstPass(const LossCall& call, int64_t line, const SoftmaxShares& shares,
                                            float scale) {
    LineSums sums;
    float values[kBlock], targets[kBlock], products[kBlock];
    for (int64_t first = 0; first < call.classes; first += kBlock) {
      int64_t size = call.classes - first < kBlock ? call.classes - first : kBlock,
              offset = line * call.classes + first;
      call.fillTargets(line, first, size, targets);
      predict(call, call.logits + offset, shares, size, values);
      for (int64_t i = 0; i < size; ++i) products[i] = Element::loss(values[i], targets[i], call.delta);
      sums.loss += sumOf(products, size);
      if (call.gradients == nullptr) continue;
      float* gradient = call.gradients + offset;
      for (int64_t i = 0; i < size; ++i) gradient[i] = Element::slope(values[i], targets[i], call.delta);
      if (call.tail == Function::kSoftmax) {
        for (int64_t i = 0; i < size; ++i) products[i] = gradient[i] * values[i];
        sums.inner += sumOf(products, size);
      } else if (call.tail == Function::kSigmoid) {
        for (int64_t i = 0; i < size; ++i) gradient[i] = gradient[i] * (values[i] * (1.0f - values[i])) * scale;
      } else {
        for (int64_t i = 0; i < size; ++i) gradient[i] *= scale;
      }
    }
    return sums;
  }

  BLOOMERY_INLINE static void throughSoftmax(const LossCall& call, int64_t line, const SoftmaxShares& shares,
                                             float inner, float scale) {
    float values[kBlock];
    for (int64_t first = 0; first < call.classes; first += kBlock) {
      int64_t size = call.classes - first < kBlock ? call.classes - first : kBlock,
              offset = line * call.classes + first;
      predict(call, call.logits + offset, shares, size, values);
      float* gradient = call.gradients + offset;
      for (int64_t i = 0; i < size; ++i) gradient[i] = values[i] * (gradient[i] - inner) * scale;
    }
  }

  BLOOMERY_INLINE static double run(const LossCall& call, int64_t firstLine, int64_t endLine) {
    double loss = 0, elements = static_cast<double>(call.positions * call.classes);
    bool softmax = call.tail == Function::kSoftmax;
    for (int64_t line = firstLine; line < endLine; ++line) {
      double weight = static_cast<double>(call.weights[line / call.positions]) / elements;
      float scale = static_cast<float>(weight * call.gradientFactor);
      SoftmaxShares shares{0, 1};
      if (softmax) shares = sharesOf(call.logits + line * call.classes, call.classes);
      LineSums sums = firstPass(call, line, shares, scale);
      if (softmax && call.gradients != nullptr) throughSoftmax(call, line, shares, sums.inner, scale);
      loss += weight * sums.loss;
    }
    return loss;
  }
};

}  // namespace

LossKernel binaryCrossEntropyKernel(SimdLevel level) { return lossKernel<Elementwise<BinaryOfLogit>>(level); }
LossKernel binaryOfProbabilityKernel(SimdLevel level) { return lossKernel<Elementwise<BinaryOfProbability>>(level); }
LossKernel squaredErrorKernel(SimdLevel level) { return lossKernel<Elementwise<SquaredError>>(level); }
LossKernel absoluteErrorKernel(SimdLevel level) { return lossKernel<Elementwise<AbsoluteError>>(level); }
LossKernel huberKernel(SimdLevel level) { return lossKernel<Elementwise<HuberError>>(level); }

}  // namespace bloomery::nn
