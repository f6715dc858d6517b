// Every layer kind as plain loops over channels-last rows: slow, obvious, and what the fast plans are tested against.
// Sums run in double. One overload of forward and backward per kind, so that the compiler finds a missing one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/Graph.h"
#include "nn/Plan.h"

namespace bloomery::nn::reference {

// Where one layer works in one pass.
struct Site {
  const network::Node& node;
  int64_t batch = 0;
  int64_t numRows = 0;                     // valid ones
  const float* input = nullptr;            // [batch, node.input], the first input
  float* output = nullptr;                 // [batch, node.output]
  const float* outputGradient = nullptr;   // [batch, node.output]
  float* inputGradient = nullptr;          // [batch, node.input]
  std::span<const TensorView> parameters;  // the node's own
  std::span<const TensorView> gradients;   // of these parameters
  std::span<const uint64_t> rowIds;        // [numRows]; empty when dropout is off
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool training = false;  // batch statistics and dropout
  double rowShare = 1;
  Reducer* reducer = nullptr;                   // for statistics of all workers; null: of this one
  std::span<const float* const> inputs = {};    // all of them
  std::span<float* const> inputGradients = {};  // all of them
  std::span<const Shape> inputShapes = {};
  const std::vector<char>* mask = nullptr;  // [batch, steps] of the first input: 0 where a step is skipped
};

void forward(const network::Input& layer, const Site& site);
void forward(const network::Convolution& layer, const Site& site);
void forward(const network::Pooling& layer, const Site& site);
void forward(const network::BatchNormalization& layer, const Site& site);
void forward(const network::LayerNormalization& layer, const Site& site);
void forward(const network::Normalization& layer, const Site& site);
void forward(const network::Dropout& layer, const Site& site);
void forward(const network::Flatten& layer, const Site& site);
void forward(const network::Reshape& layer, const Site& site);
void forward(const network::ZeroPadding& layer, const Site& site);
void forward(const network::Rescaling& layer, const Site& site);
void forward(const network::Dense& layer, const Site& site);
void forward(const network::Activation& layer, const Site& site);
void forward(const network::Embedding& layer, const Site& site);
void forward(const network::Recurrent& layer, const Site& site);
void forward(const network::Merge& layer, const Site& site);

// Overwrite site.gradients and site.inputGradients.
void backward(const network::Input& layer, const Site& site);
void backward(const network::Convolution& layer, const Site& site);
void backward(const network::Pooling& layer, const Site& site);
void backward(const network::BatchNormalization& layer, const Site& site);
void backward(const network::LayerNormalization& layer, const Site& site);
void backward(const network::Normalization& layer, const Site& site);
void backward(const network::Dropout& layer, const Site& site);
void backward(const network::Flatten& layer, const Site& site);
void backward(const network::Reshape& layer, const Site& site);
void backward(const network::ZeroPadding& layer, const Site& site);
void backward(const network::Rescaling& layer, const Site& site);
void backward(const network::Dense& layer, const Site& site);
void backward(const network::Activation& layer, const Site& site);
void backward(const network::Embedding& layer, const Site& site);
void backward(const network::Recurrent& layer, const Site& site);
void backward(const network::Merge& layer, const Site& site);

}  // namespace bloomery::nn::reference
