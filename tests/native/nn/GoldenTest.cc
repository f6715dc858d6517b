// Logits, loss and gradients against what PyTorch computed (tests/golden/generate.py).
#include <gtest/gtest.h>

#include "golden/Fixture.h"
#include "nn/CrossEntropy.h"
#include "nn/Plan.h"

namespace bloomery::nn {

namespace {

class GoldenTest : public testing::TestWithParam<decltype(&makeDnnlPlan)> {};

TEST_P(GoldenTest, agreesWithPyTorch) {
  const Json layers = golden::load("layers.json");
  ASSERT_EQ(layers.at("cases").size(), 44u);
  for (const Json& json : layers.at("cases")) {
    golden::Fixture fixture(json);
    SCOPED_TRACE(fixture.name);
    Arena parameters = fixture.arena(json.at("parameters")), gradients(fixture.layout);
    auto plan = GetParam()(fixture.graph, parameters, &gradients, {fixture.numRows(), true, fixture.seed});
    const float* features = fixture.features.data();
    plan->forward({std::span(&features, 1), fixture.rowIds, fixture.numRows(), fixture.epoch}, Mode::kTraining);
    LossSums sums = softmaxCrossEntropy(plan->logits(), fixture.labels, fixture.weights, fixture.weightSum(),
                                        plan->logitGradients());
    NoGradientSink sink;
    plan->backward(sink);
    EXPECT_NEAR(sums.loss / sums.weight, json.at("loss").get<double>(), 1e-5);
    golden::expectNear(plan->logits().span(), json.at("logits"), 1e-5, "logits");
    for (const Slice& slice : fixture.layout.slices()) {
      golden::expectNear(gradients.view(slice).span(), json.at("gradients").at(slice.name), 1e-5, slice.name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(plans, GoldenTest, testing::Values(makeDnnlPlan, makeReferencePlan),
                         [](const auto& instance) { return instance.param == makeDnnlPlan ? "dnnl" : "reference"; });

}  // namespace

}  // namespace bloomery::nn
