// What every plan promises, by whichever kernels it runs.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/Error.h"
#include "nn/Device.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

const char* const kSmall =
    R"([{'kind': 'Input', 'shape': [10, 10, 1]}, {'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3, 'activation': 'relu'},
    {'kind': 'Conv2D', 'filters': 24, 'kernelSize': 3, 'activation': 'relu'}, {'kind': 'MaxPool2D'}, {'kind': 'Dropout', 'rate': 0.3},
    {'kind': 'Flatten'}, {'kind': 'Dense', 'units': 12, 'activation': 'relu'}, {'kind': 'Dense', 'units': 5, 'activation': 'softmax'}])";

class PlanTest : public testing::TestWithParam<MakePlan> {
 protected:
  std::unique_ptr<Plan> planOf(const TestNetwork& network, int64_t batchSize) {
    return GetParam()(network.graph, network.parameters, &network.gradients, network.options(batchSize));
  }
};

TEST_P(PlanTest, seesParametersThatChanged) {
  TestNetwork network(kSmall, 3);
  auto plan = planOf(network, 3);
  trainStep(*plan, network);
  for (float& parameter : network.parameters.all()) parameter *= 0.5f;
  StepResult reused = trainStep(*plan, network), fresh = trainStep(GetParam(), network, 3);
  EXPECT_EQ(reused.logits, fresh.logits);
  EXPECT_EQ(reused.gradients, fresh.gradients);
}

TEST_P(PlanTest, logitsSurviveBackward) {
  TestNetwork network(kSmall, 3);
  auto plan = planOf(network, 3);
  StepResult result = trainStep(*plan, network);
  for (size_t i = 0; i < result.logits.size(); ++i) EXPECT_EQ(plan->logits().data[i], result.logits[i]) << i;
}

TEST_P(PlanTest, sameInputGivesTheSameBits) {
  TestNetwork network(kSmall, 5);
  StepResult first = trainStep(GetParam(), network, 5), second = trainStep(GetParam(), network, 5);
  EXPECT_EQ(first.logits, second.logits);
  EXPECT_EQ(first.gradients, second.gradients);
}

// A batch that is not full gives what a plan of its own size gives, whatever the earlier batch left behind.
TEST_P(PlanTest, missingRowsChangeNothing) {
  TestNetwork poison(kSmall, 7), network(kSmall, 3, 2);
  std::copy(network.parameters.all().begin(), network.parameters.all().end(), poison.parameters.all().begin());
  StepResult expected = trainStep(GetParam(), network, 3);
  std::fill(poison.inputs[0].begin(), poison.inputs[0].end(), std::numeric_limits<float>::quiet_NaN());
  auto plan = GetParam()(network.graph, network.parameters, &network.gradients, network.options(8));
  trainStep(*plan, poison);
  std::copy(network.inputs[0].begin(), network.inputs[0].end(), poison.inputs[0].begin());
  network.inputs[0] = poison.inputs[0];  // three rows of numbers, four of NaN
  expectNear(network, trainStep(*plan, network), expected, 2e-5);
}

TEST_P(PlanTest, paddingOfTheGradientArenaIsLeftAlone) {
  TestNetwork network("[{'kind': 'Input', 'shape': [3]}, {'kind': 'Dense', 'units': 5}]", 2);
  trainStep(GetParam(), network, 2);  // which begins by filling the arena with NaN
  ASSERT_EQ(network.layout.slices()[1].offset, 16u);
  EXPECT_FALSE(std::isnan(network.gradients.all()[14]));
  EXPECT_TRUE(std::isnan(network.gradients.all()[15]));
}

TEST_P(PlanTest, tellsGradientsInReverseOrder) {
  struct Recorder : GradientSink {
    void ready(size_t sliceIndex) override { slices.push_back(sliceIndex); }
    std::vector<size_t> slices;
  } recorder;
  TestNetwork network(kSmall, 3);
  auto plan = planOf(network, 3);
  plan->forward(network.batch(), Mode::kTraining);
  softmaxCrossEntropy(plan->logits(), network.labels, network.weights, 1.0, plan->logitGradients());
  plan->backward(recorder);
  EXPECT_EQ(recorder.slices, (std::vector<size_t>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST_P(PlanTest, refusesWhatItWasNotMadeFor) {
  TestNetwork network(kSmall, 4);
  EXPECT_THROW(planOf(network, 3)->forward(network.batch(), Mode::kTraining), InternalError);
  NoGradientSink sink;
  auto inference = GetParam()(network.graph, network.parameters, nullptr, {4, false, 0});
  inference->forward(network.batch(), Mode::kInference);
  EXPECT_THROW(inference->backward(sink), InternalError);
  EXPECT_THROW(GetParam()(network.graph, network.parameters, nullptr, {4, true, 0}), InternalError);
}

INSTANTIATE_TEST_SUITE_P(plans, PlanTest, testing::Values(makeDnnlPlan, makeReferencePlan),
                         [](const auto& instance) { return instance.param == makeDnnlPlan ? "dnnl" : "reference"; });

// Seen by what the input's gradient is made of: a kernel that is gone when it is told of leaves none.
TEST(DnnlPlanTest, tellsAKernelsGradientBeforeItComputesTheInputs) {
  struct Eraser : GradientSink {
    void ready(size_t sliceIndex) override {
      const Slice& slice = network.layout.slices()[sliceIndex];
      if (sliceIndex == erased) std::ranges::fill(network.parameters.all().subspan(slice.offset, slice.size), 0.0f);
    }
    TestNetwork& network;
    size_t erased;
    Eraser(TestNetwork& networkIn, size_t erasedIn) : network(networkIn), erased(erasedIn) {}
  };
  for (size_t kernel : {2u, 4u, 6u}) {  // of the second convolution and of both dense layers
    TestNetwork network(kSmall, 3);
    auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(3));
    plan->forward(network.batch(), Mode::kTraining);
    softmaxCrossEntropy(plan->logits(), network.labels, network.weights, 1.0, plan->logitGradients());
    Eraser eraser(network, kernel);
    plan->backward(eraser);
    auto isZero = [&](size_t slice) {
      auto gradients = network.gradients.all().subspan(network.layout.slices()[slice].offset, 5);
      return std::ranges::all_of(gradients, [](float gradient) { return gradient == 0; });
    };
    EXPECT_FALSE(isZero(kernel + 1)) << kernel;
    EXPECT_TRUE(isZero(kernel - 1)) << kernel;
  }
}

// What is told of may be on its way to other workers: nothing is added to it any more.
TEST(DnnlPlanTest, tellsASharedGradientOnlyWhenAllOfItsUsersHaveAdded) {
  struct Snapshots : GradientSink {
    void ready(size_t sliceIndex) override {
      const Slice& slice = network.layout.slices()[sliceIndex];
      auto values = network.gradients.all().subspan(slice.offset, slice.size);
      seen.emplace_back(sliceIndex, std::vector<float>(values.begin(), values.end()));
    }
    TestNetwork& network;
    std::vector<std::pair<size_t, std::vector<float>>> seen;
    explicit Snapshots(TestNetwork& networkIn) : network(networkIn) {}
  };
  TestNetwork network(R"([{'kind': 'Input', 'shape': [5]}, {'kind': 'Dense', 'units': 5, 'name': 'a'},
      {'kind': 'Dense', 'units': 5, 'name': 'b', 'sharedWith': 'a', 'activation': 'relu'},
      {'kind': 'Dense', 'units': 5, 'name': 'c', 'sharedWith': 'a'}, {'kind': 'Dense', 'units': 3}])",
                      4);
  auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, network.options(4));
  plan->forward(network.batch(), Mode::kTraining);
  softmaxCrossEntropy(plan->logits(), network.labels, network.weights, 1.0, plan->logitGradients());
  Snapshots snapshots(network);
  plan->backward(snapshots);
  ASSERT_EQ(snapshots.seen.size(), network.layout.slices().size());
  for (const auto& [index, values] : snapshots.seen) {
    const Slice& slice = network.layout.slices()[index];
    auto last = network.gradients.all().subspan(slice.offset, slice.size);
    EXPECT_TRUE(std::ranges::equal(values, last)) << slice.name;
  }
}

TEST(DeviceTest, referenceTellsItsMemory) {
  TestNetwork network(kMnistCnn, 1);
  const Device& device = deviceNamed("reference");
  for (bool training : {true, false}) {
    auto plan = device.makePlan(network.graph, network.parameters, &network.gradients, {4, training, 0});
    EXPECT_EQ(device.activationBytes(network.graph, 4, training), plan->memoryBytes());
  }
}

TEST(DnnlPlanMemoryTest, estimateIsNearTheTruth) {
  for (int64_t batchSize : {1, 32, 96}) {
    for (bool training : {true, false}) {
      TestNetwork network(kMnistCnn, 1);
      auto plan = makeDnnlPlan(network.graph, network.parameters, training ? &network.gradients : nullptr,
                               {batchSize, training, 0});
      double estimate = static_cast<double>(estimateActivationBytes(network.graph, batchSize, training));
      EXPECT_NEAR(estimate, static_cast<double>(plan->memoryBytes()), 0.2 * estimate) << batchSize;
    }
  }
}

// mnist-cnn keeps 8.3 + 14.2 + 3.5 MB of activations at batch 96; with gradients of all of them it would be 60 MB.
TEST(DnnlPlanMemoryTest, buffersShareTheirPlaces) {
  TestNetwork network(kMnistCnn, 1);
  EXPECT_LT(estimateActivationBytes(network.graph, 96, true), size_t{60} << 20);
  EXPECT_LT(estimateActivationBytes(network.graph, 96, false), size_t{26} << 20);
}

// What a convolution does on the way needs no image of its own.
TEST(DnnlPlanMemoryTest, inferenceFoldsBatchNormalizationIntoTheLayerBefore) {
  const std::string conv = "{'kind': 'Conv2D', 'filters': 16, 'kernelSize': 3}, ", relu = "{'kind': 'ReLU'}, ";
  const std::string first = "[{'kind': 'Input', 'shape': [32, 32, 3]}, " + conv,
                    last = relu + conv + "{'kind': 'Flatten'}]";
  TestNetwork plain(first + last, 1), normalized(first + "{'kind': 'BatchNormalization'}, " + last, 1);
  size_t without = estimateActivationBytes(plain.graph, 8, false);
  EXPECT_LT(estimateActivationBytes(normalized.graph, 8, false), without + 4096);
  EXPECT_GT(estimateActivationBytes(normalized.graph, 8, true), estimateActivationBytes(plain.graph, 8, true) + 4096);
}

TEST(DnnlPlanTest, profileTellsWhereTheTimeWent) {
  TestNetwork network(kSmall, 3);
  Profile profile;
  Trace trace;
  profile.trace = &trace;
  PlanOptions options = network.options(3);
  options.profile = &profile;
  auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, options);
  for (int i = 0; i < 2; ++i) trainStep(*plan, network);
  plan->forward(network.batch(), Mode::kInference);  // as validation does, which is none of a step's time
  ASSERT_EQ(profile.layers.size(), network.graph.nodes().size());
  EXPECT_EQ(profile.forwardPasses, 2);
  EXPECT_EQ(profile.backwardPasses, 2);
  EXPECT_EQ(profile.layers[1].name, "conv2d");
  EXPECT_GT(profile.layers[1].forwardSeconds, 0);
  EXPECT_GT(profile.layers[1].backwardSeconds, 0);
  auto spans = trace.drain();
  auto isBackward = [](const TraceSpan& span) { return std::string(span.name) == "conv2d backward"; };
  EXPECT_EQ(std::ranges::count_if(spans, isBackward), 2);
}

TEST(DnnlPlanTest, mnistCnnHasItsParameterCount) {
  EXPECT_EQ(TestNetwork(kMnistCnn, 1).graph.parameters().numValues(), 1199882);
}

TEST(DnnlPlanTest, twoThreadsAgreeWithOne) {
  // oneDNN's threads would wait for one that never comes.
  if (omp_get_thread_limit() < 2) GTEST_SKIP() << "only one OpenMP thread is allowed, as under ThreadSanitizer";
  TestNetwork network(kMnistCnn, 16);
  int before = omp_get_max_threads();
  omp_set_num_threads(1);
  StepResult one = trainStep(makeDnnlPlan, network, 16);
  omp_set_num_threads(2);
  StepResult two = trainStep(makeDnnlPlan, network, 16);
  omp_set_num_threads(before);
  expectNear(network, two, one, 2e-5);
}

}  // namespace

}  // namespace bloomery::nn
