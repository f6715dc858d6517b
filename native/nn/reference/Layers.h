// Every layer kind as plain loops over channels-last rows: slow, obvious, and what the fast plans are tested against.
// Sums run in double. One overload of forward and backward per kind, so that the compiler finds a missing one.
#pragma once

#include <cstdint>
#include <span>

#include "network/Graph.h"
#include "nn/Plan.h"

namespace bloomery::nn::reference {

// Where one layer works in one pass.
struct Site {
  const network::Node& node;
  int64_t batch = 0;
  const float* input = nullptr;            // [batch, node.input]
  float* output = nullptr;                 // [batch, node.output]
  const float* outputGradient = nullptr;   // [batch, node.output]
  float* inputGradient = nullptr;          // [batch, node.input]
  std::span<const TensorView> parameters;  // the node's own
  std::span<const TensorView> gradients;   // of these parameters
  std::span<const uint64_t> rowIds;        // [numRows]; empty when dropout is off
  uint64_t seed = 0;
  int64_t epoch = 0;
};

void forward(const network::Input& layer, const Site& site);
void forward(const network::Conv2D& layer, const Site& site);
void forward(const network::MaxPool2D& layer, const Site& site);
void forward(const network::Dropout& layer, const Site& site);
void forward(const network::Flatten& layer, const Site& site);
void forward(const network::Dense& layer, const Site& site);
void forward(const network::Activation& layer, const Site& site);

// Overwrite site.gradients and site.inputGradient.
void backward(const network::Input& layer, const Site& site);
void backward(const network::Conv2D& layer, const Site& site);
void backward(const network::MaxPool2D& layer, const Site& site);
void backward(const network::Dropout& layer, const Site& site);
void backward(const network::Flatten& layer, const Site& site);
void backward(const network::Dense& layer, const Site& site);
void backward(const network::Activation& layer, const Site& site);

}  // namespace bloomery::nn::reference
