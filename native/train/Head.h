// What training asks of one output: its loss, how much that counts, what is measured, and what its targets may be.
// Read from the options of `training`, each given once for all outputs or by output name.
#pragma once

#include <vector>

#include "data/arrow/ArrowIngest.h"
#include "nn/Loss.h"
#include "nn/Metric.h"

namespace bloomery::train {

inline constexpr const char* kDefaultLoss = "categorical_crossentropy";
inline constexpr const char* kDefaultBinaryLoss = "binary_crossentropy";  // of one sigmoid

struct Head {
  network::Output output;
  nn::LossSpec loss;
  double lossWeight = 1;
  // By class, empty for none. They multiply the weights of training rows when a batch is assembled, so that they are
  // part of the weight sum that the loss is divided by; validation rows keep their own weights, as in Keras.
  std::vector<float> classWeights;
  std::vector<nn::MetricSpec> metrics;

  network::Function prediction() const { return nn::predictionOf(loss, output.tail); }
  data::TargetRule targetRule() const;
  data::TargetFormat targetFormat() const;
};

// One for each output, from `loss`, `lossWeights`, `classWeights` and `metrics`. UserError when something is missing,
// unknown or does not fit the output.
std::vector<Head> readHeads(JsonReader& training, const std::vector<network::Output>& outputs);

// The same options, resolved: added to `training`.
void writeHeads(const std::vector<Head>& heads, Json& training);

}  // namespace bloomery::train
