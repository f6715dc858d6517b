// One training step allocates nothing and creates no primitive. A program of its own, because it replaces the
// allocation functions.
#include <gtest/gtest.h>

#include <string>

#include "nn/CountingAllocator.h"
#include "nn/TestNetwork.h"
#include "optim/Updater.h"

namespace bloomery::nn {

namespace {

TEST(AllocationTest, trainingStepsAllocateAndCreateNothing) {
  std::string layers = kMnistCnn;  // with a layer more that is oneDNN's: its 3x3 convolutions are ours
  layers.insert(layers.find("{'kind': 'Dropout'"), "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 2}, ");
  TestNetwork network(layers, 12);
  auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(12));
  optim::UpdateSpec updates{.optimizer = optim::Lamb{}, .clipNorm = 1.0, .clipValue = {}, .emaMomentum = 0.9};
  std::vector<optim::ParameterRule> rules(network.layout.slices().size(), {.l2 = 1e-4f});
  optim::Updater updater(updates, network.layout, rules);
  AllocationCounts& counts = allocationCounts();
  EXPECT_GT(counts.numPrimitives, 10);
  NoGradientSink sink;
  auto step = [&](int64_t numRows) {
    size_t count = static_cast<size_t>(numRows);
    BatchInput batch = network.batch();
    batch.rowIds = batch.rowIds.first(count);
    batch.numRows = numRows;
    plan->forward(batch, Mode::kTraining);
    softmaxCrossEntropy(plan->logits(), std::span(network.labels).first(count), std::span(network.weights).first(count),
                        static_cast<double>(numRows), plan->logitGradients());
    plan->backward(sink);
    updater.step(network.parameters.all(), network.gradients.all(), 10);
  };
  step(12);  // starts the OpenMP team
  counts.numPrimitives = 0;
  counts.counting = true;
  for (int64_t numRows : {12, 7, 12}) step(numRows);
  counts.counting = false;
  EXPECT_EQ(counts.numAllocations, 0);
  EXPECT_EQ(counts.numPrimitives, 0);
}

TEST(AllocationTest, countsWhatIsAllocated) {
  AllocationCounts& counts = allocationCounts();
  counts.numAllocations = 0;
  counts.counting = true;
  std::vector<float> some(100);
  counts.counting = false;
  EXPECT_EQ(counts.numAllocations, 1);
}

}  // namespace

}  // namespace bloomery::nn
