// Softmax and cross-entropy on class indices, for tests of what lies before the loss.
#pragma once

#include <algorithm>
#include <numeric>

#include "nn/Loss.h"

namespace bloomery::nn {

struct LossSums {
  double loss = 0;      // sum of weight * cross-entropy
  double weight = 0;    // sum of weights
  int64_t correct = 0;  // rows whose largest logit is the label's
  int64_t rows = 0;
};

// Each row's gradient is weight / weightSum * (softmax - one-hot).
inline LossSums softmaxCrossEntropy(const TensorView& logits, std::span<const int32_t> labels,
                                    std::span<const float> weights, double weightSum, const TensorView& gradients) {
  LossSums sums;
  sums.loss = computeLoss(CategoricalCrossentropy{}, network::Function::kSoftmax, logits, {labels.data(), nullptr},
                          weights, weightSum > 0 ? 1 / weightSum : 0.0, gradients);
  sums.weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  sums.rows = static_cast<int64_t>(labels.size());
  int64_t classes = logits.shape[1];
  for (int64_t row = 0; row < sums.rows; ++row) {
    const float* values = logits.data + row * classes;
    sums.correct += std::max_element(values, values + classes) - values == labels[static_cast<size_t>(row)] ? 1 : 0;
  }
  return sums;
}

}  // namespace bloomery::nn
