// A network with parameters, gradients and one batch of random data, for tests that run a plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/JsonValue.h"
#include "nn/CrossEntropy.h"
#include "nn/Plan.h"

namespace bloomery::nn {

using MakePlan = std::unique_ptr<Plan> (*)(const network::Graph&, const Arena&, const Arena*, const PlanOptions&);

// Uniform in [-scale, scale), the same for the same key.
std::vector<float> randomFloats(int64_t size, uint64_t key, float scale = 1.0f);

struct TestNetwork {
  // `layers` is the JSON list of the layers, single quotes standing for double ones.
  TestNetwork(std::string layers, int64_t numRows, uint64_t seed = 1);

  PlanOptions options(int64_t batchSize) const { return {batchSize, true, 77}; }
  BatchInput batch() const;
  double weightSum() const;

  network::Graph graph;
  ArenaLayout layout;
  Arena parameters, gradients;
  std::vector<std::vector<float>> inputs;  // [numRows, input] each
  mutable std::vector<const float*> pointers;
  std::vector<uint64_t> rowIds;
  std::vector<int32_t> labels;
  std::vector<float> weights;
};

struct StepResult {
  LossSums sums;
  double loss = 0;               // weighted mean
  std::vector<float> logits;     // of the valid rows
  std::vector<float> gradients;  // laid out as the arena, zero between the slices
};

// Forward in training mode, loss, backward.
StepResult trainStep(Plan& plan, const TestNetwork& network);
// The same with a plan made for the purpose.
StepResult trainStep(MakePlan make, const TestNetwork& network, int64_t batchSize);

// Every value within `tolerance` of the other's, relative to the largest of its slice.
void expectNear(const TestNetwork& network, const StepResult& actual, const StepResult& expected, double tolerance);

extern const char* const kMnistCnn;  // the layers of mnist-cnn

}  // namespace bloomery::nn
