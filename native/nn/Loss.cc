#include "nn/Loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/Error.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kWorthThreads = 1 << 15;

// Writes exp(logit - largest) and returns their sum.
float exponentials(const float* logits, int64_t classes, float largest, float* out) {
  float sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    out[i] = std::exp(logits[i] - largest);
    sum += out[i];
  }
  return sum;
}

float sumOfExponentials(const float* logits, int64_t classes, float largest) {
  float sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(logits[i] - largest);
  return sum;
}

void addRow(const float* logits, int64_t classes, int32_t label, float weight, double weightSum, float* gradient,
            LossSums& sums) {
  const float* largest = std::max_element(logits, logits + classes);
  float sum;
  if (gradient == nullptr) {
    sum = sumOfExponentials(logits, classes, *largest);
  } else {
    sum = exponentials(logits, classes, *largest, gradient);
    float scale = weightSum > 0 ? static_cast<float>(weight / weightSum) : 0.0f;
    for (int64_t i = 0; i < classes; ++i) gradient[i] = gradient[i] / sum * scale;
    gradient[label] -= scale;
  }
  sums.loss += static_cast<double>(weight) * (std::log(static_cast<double>(sum)) + *largest - logits[label]);
  sums.weight += weight;
  sums.correct += largest - logits == label ? 1 : 0;
  sums.rows += 1;
}

}  // namespace

LossSums softmaxCrossEntropy(const TensorView& logits, std::span<const int32_t> labels, std::span<const float> weights,
                             double weightSum, const TensorView& gradients) {
  check(logits.shape.rank() == 2, "Logits are not [batch, classes]: ", logits.shape.toString());
  int64_t batch = logits.shape[0], classes = logits.shape[1], numRows = static_cast<int64_t>(labels.size());
  check(numRows <= batch && weights.size() == labels.size(), "Labels do not fit the logits: ", numRows, ", weights ",
        weights.size(), ", logits ", logits.shape.toString());
  for (int32_t label : labels)
    check(label >= 0 && label < classes, "Label out of range: ", label, ", classes: ", classes);

  // Chunks do not depend on the number of threads, so neither do the sums.
  constexpr int64_t kChunks = 64;
  std::array<LossSums, kChunks> chunks;
#pragma omp parallel for schedule(static) if (numRows * classes > kWorthThreads)
  for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
    for (int64_t row = numRows * chunk / kChunks; row < numRows * (chunk + 1) / kChunks; ++row) {
      size_t index = static_cast<size_t>(row);
      float* gradient = gradients.data == nullptr ? nullptr : gradients.data + row * classes;
      addRow(logits.data + row * classes, classes, labels[index], weights[index], weightSum, gradient,
             chunks[static_cast<size_t>(chunk)]);
    }
  }
  LossSums total;
  for (const LossSums& chunk : chunks) {
    total.loss += chunk.loss;
    total.weight += chunk.weight;
    total.correct += chunk.correct;
    total.rows += chunk.rows;
  }
  if (gradients.data != nullptr) std::fill(gradients.data + numRows * classes, gradients.data + batch * classes, 0.0f);
  return total;
}

void softmaxRows(const float* logits, int64_t numRows, int64_t classes, float* out) {
#pragma omp parallel for schedule(static) if (numRows * classes > kWorthThreads)
  for (int64_t row = 0; row < numRows; ++row) {
    const float* in = logits + row * classes;
    float* result = out + row * classes;
    float sum = exponentials(in, classes, *std::max_element(in, in + classes), result);
    for (int64_t i = 0; i < classes; ++i) result[i] /= sum;
  }
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

}  // namespace bloomery::nn
