// Ten steps of each optimizer on a small mnist-cnn against PyTorch's (tests/golden/generate.py), dropout included.
#include <gtest/gtest.h>

#include "golden/Fixture.h"
#include "nn/CrossEntropy.h"
#include "nn/Plan.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

namespace {

TEST(OptimizerGoldenTest, tenStepsAgreeWithPyTorch) {
  Json json = golden::load("training.json");
  golden::Fixture fixture(json);
  ASSERT_EQ(json.at("runs").size(), 5u);
  for (const Json& expected : json.at("runs")) {
    SCOPED_TRACE(expected.at("optimizer").dump());
    Arena parameters = fixture.arena(json.at("parameters")), gradients(fixture.layout);
    auto plan = nn::makeDnnlPlan(fixture.graph, parameters, &gradients, {fixture.numRows(), true, fixture.seed});
    OptimizerSpec spec = readOptimizer(expected.at("optimizer"));
    auto optimizer = makeOptimizer(spec, parameters.all().size());
    NoGradientSink sink;
    for (int64_t step = 0; step < 10; ++step) {
      const float* input = fixture.features.data();
      plan->forward({std::span(&input, 1), fixture.rowIds, fixture.numRows(), step}, nn::Mode::kTraining);
      nn::LossSums sums = nn::softmaxCrossEntropy(plan->logits(), fixture.labels, fixture.weights, fixture.weightSum(),
                                                  plan->logitGradients());
      EXPECT_NEAR(sums.loss / sums.weight, expected.at("losses")[static_cast<size_t>(step)].get<double>(), 2e-5)
          << "step " << step;
      plan->backward(sink);
      optimizer->beginStep(learningRateOf(spec));
      optimizer->update(0, parameters.all(), gradients.all());
    }
    for (const Slice& slice : fixture.layout.slices()) {
      golden::expectNear(parameters.view(slice).span(), expected.at("parameters").at(slice.name), 1e-4, slice.name);
    }
  }
}

}  // namespace

}  // namespace bloomery::optim
