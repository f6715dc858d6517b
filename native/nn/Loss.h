// The losses: what each is made of, and the one function that computes them. A loss of a row is the mean over the
// output's elements (cross-entropies: over its positions), as in Keras; rows are then weighted. An output's tail,
// softmax or sigmoid, is left to the loss, which fuses it where the two belong together and else goes through it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "base/Json.h"
#include "base/Simd.h"
#include "network/Graph.h"
#include "nn/Targets.h"
#include "tensor/TensorView.h"

namespace bloomery::nn {

// Label smoothing s makes the target t into t * (1 - s) + s / classes. `fromLogits` says that the network ends in
// logits, without a softmax. Targets are class indices or vectors of probabilities.
struct CategoricalCrossentropy {
  static constexpr const char* kNames[] = {"categorical_crossentropy"};
  double labelSmoothing = 0;
  bool fromLogits = false;
};

// The same with class indices only.
struct SparseCategoricalCrossentropy {
  static constexpr const char* kNames[] = {"sparse_categorical_crossentropy"};
  double labelSmoothing = 0;
  bool fromLogits = false;
};

// Every element is a decision of its own. Smoothing moves targets towards 1/2.
struct BinaryCrossentropy {
  static constexpr const char* kNames[] = {"binary_crossentropy"};
  double labelSmoothing = 0;
  bool fromLogits = false;
};

struct MeanSquaredError {
  static constexpr const char* kNames[] = {"mean_squared_error", "mse"};
};

struct MeanAbsoluteError {
  static constexpr const char* kNames[] = {"mean_absolute_error", "mae"};
};

// Half the square up to delta, straight beyond it.
struct Huber {
  static constexpr const char* kNames[] = {"huber", "huber_loss"};
  double delta = 1;
};

using LossSpec = std::variant<CategoricalCrossentropy, SparseCategoricalCrossentropy, BinaryCrossentropy,
                              MeanSquaredError, MeanAbsoluteError, Huber>;

// From "mse" or {"kind": "huber", "delta": 2}; unknown kinds, options and values out of range are UserErrors.
LossSpec readLoss(const Json& json);
Json toJson(const LossSpec& spec);
std::string nameOf(const LossSpec& spec);

// UserError when this loss cannot be computed from this output; says what to change.
void checkFits(const LossSpec& spec, const network::Output& output);
// What turns the output's logits into predictions: its tail, or the one that `fromLogits` implies.
network::Function predictionOf(const LossSpec& spec, network::Function tail);

// The sum of weight * loss over weights.size() rows. Row r's gradient with respect to the logits is
// gradientFactor * weights[r] * d loss / d logits; rows beyond are set to zero. Pass gradients.data == nullptr to only
// evaluate. Neither depends on the number of threads or the vector level.
double computeLoss(const LossSpec& spec, network::Function tail, const TensorView& logits, const Targets& targets,
                   std::span<const float> weights, double gradientFactor, const TensorView& gradients,
                   SimdLevel level = simdLevel());

}  // namespace bloomery::nn
