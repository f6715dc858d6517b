// One training step allocates nothing and creates no primitive. A program of its own, because it replaces the
// allocation functions.
#include <gtest/gtest.h>

#include "nn/CountingAllocator.h"
#include "nn/TestNetwork.h"
#include "optim/Optimizer.h"

namespace bloomery::nn {

namespace {

TEST(AllocationTest, trainingStepsAllocateAndCreateNothing) {
  TestNetwork network(kMnistCnn, 12);
  auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(12));
  auto optimizer = optim::makeOptimizer(optim::Adadelta{}, network.parameters.all().size());
  AllocationCounts& counts = allocationCounts();
  EXPECT_GT(counts.numPrimitives, 10);
  NoGradientSink sink;
  auto step = [&](int64_t numRows) {
    size_t count = static_cast<size_t>(numRows);
    plan->forward({network.batch().inputs, std::span(network.rowIds).first(count), numRows, 1}, Mode::kTraining);
    softmaxCrossEntropy(plan->logits(), std::span(network.labels).first(count), std::span(network.weights).first(count),
                        static_cast<double>(numRows), plan->logitGradients());
    plan->backward(sink);
    optimizer->beginStep(1.0);
    optimizer->update(0, network.parameters.all(), network.gradients.all());
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
