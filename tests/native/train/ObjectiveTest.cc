#include "train/Objective.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/JsonValue.h"
#include "train/StepTail.h"

namespace bloomery::train {
namespace {

using network::Function;

// A plan whose logits are given.
class GivenLogits final : public nn::Plan {
 public:
  void add(Shape shape, std::vector<float> values) {
    values_.push_back(std::move(values));
    gradients_.emplace_back(values_.back().size(), NAN);
    shapes_.push_back(std::move(shape));
    logits_.clear();
    logitGradients_.clear();
    for (size_t i = 0; i < values_.size(); ++i) {
      logits_.push_back({values_[i].data(), shapes_[i]});
      logitGradients_.push_back({gradients_[i].data(), shapes_[i]});
    }
  }
  void forward(const nn::BatchInput&, nn::Mode) override {}
  const TensorView& logits(size_t output) const override { return logits_[output]; }
  const TensorView& logitGradients(size_t output) const override { return logitGradients_[output]; }
  void backward(GradientSink&) override {}
  size_t memoryBytes() const override { return 0; }

 private:
  std::vector<std::vector<float>> values_, gradients_;
  std::vector<Shape> shapes_;
  std::vector<TensorView> logits_, logitGradients_;
};

class ObjectiveTest : public testing::Test {
 protected:
  ObjectiveTest()
      : heads_{{{.name = "kind", .shape = {2}, .tail = Function::kSoftmax},
                nn::CategoricalCrossentropy{},
                1,
                {},
                {nn::readMetric("accuracy")}},
               {{.name = "height", .shape = {1}, .tail = Function::kLinear},
                nn::MeanSquaredError{},
                0.5,
                {},
                {nn::readMetric("mae")}}},
        batch_(4, {{{DType::kFloat32, 1}}, {{2, true}, {1, false}}}) {
    plan_.add({4, 2}, {0, 0, 0, 0, 3, 0, NAN, NAN});
    plan_.add({4, 1}, {1, 2, 3, NAN});
    batch_.numRows = 3;
    batch_.targets[0] = {true, {0, 1, 0, 0}, {}, {1, 2, 0, 0}, 3};
    batch_.targets[1] = {false, {}, {2, 2, 5, 0}, {1, 1, 2, 0}, 4};
  }

  std::vector<Head> heads_;
  GivenLogits plan_;
  data::Batch batch_;
};

TEST_F(ObjectiveTest, everyOutputHasItsLossItsWeightSumAndItsGradient) {
  Objective objective(heads_, 4);
  std::vector<double> weightSums = {6, 8}, losses(2), metrics(objective.numMetricSums());
  objective.compute(plan_, batch_, weightSums, losses, metrics);
  EXPECT_NEAR(losses[0], 3 * std::log(2.0), 1e-6);
  EXPECT_NEAR(losses[1], 1 + 0 + 2 * 4, 1e-6);
  const float* kinds = plan_.logitGradients(0).data;
  EXPECT_NEAR(kinds[0], (0.5 - 1) * 1 / 6, 1e-7);
  EXPECT_NEAR(kinds[2], 0.5 * 2 / 6, 1e-7);
  EXPECT_EQ(kinds[4], 0.0f);
  EXPECT_EQ(kinds[6], 0.0f);
  const float* heights = plan_.logitGradients(1).data;
  EXPECT_NEAR(heights[0], -2.0 * 0.5 / 8, 1e-7);
  EXPECT_NEAR(heights[2], -4.0 * 2 * 0.5 / 8, 1e-7);
  EXPECT_EQ(heights[3], 0.0f);

  Measures measures;
  objective.measure(losses, std::vector<double>{3, 4}, metrics, measures);
  EXPECT_NEAR(measures.loss, std::log(2.0) + 0.5 * 9 / 4, 1e-6);
  ASSERT_EQ(metricNames(heads_), (std::vector<std::string>{"kind_loss", "height_loss", "kind_accuracy", "height_mae"}));
  EXPECT_NEAR(measures.metrics[0], std::log(2.0), 1e-6);
  EXPECT_NEAR(measures.metrics[1], 9 / 4.0, 1e-6);
  EXPECT_NEAR(measures.metrics[2], 2.0 / 3, 1e-9);
  EXPECT_NEAR(measures.metrics[3], 1.0, 1e-9);
}

TEST_F(ObjectiveTest, withoutWeightSumsItOnlyEvaluates) {
  Objective objective(heads_, 4);
  std::vector<double> losses(2), metrics(objective.numMetricSums());
  objective.compute(plan_, batch_, {}, losses, metrics);
  EXPECT_NEAR(losses[1], 9, 1e-6);
  EXPECT_TRUE(std::isnan(plan_.logitGradients(0).data[0]));
}

TEST_F(ObjectiveTest, anOutputWithoutWeightGivesNoGradient) {
  Objective objective(heads_, 4);
  std::vector<double> losses(2), metrics(objective.numMetricSums());
  objective.compute(plan_, batch_, std::vector<double>{0, 8}, losses, metrics);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(plan_.logitGradients(0).data[i], 0.0f);
  EXPECT_NE(plan_.logitGradients(1).data[0], 0.0f);
}

TEST(StepTail, carriesSumsAndTheNextHeaderOfEveryOutput) {
  EXPECT_EQ(StepTail::numFloats(1), 16u);
  EXPECT_EQ(StepTail::numFloats(5), 32u);
  std::vector<float> floats(StepTail::numFloats(2));
  StepTail tail(floats);
  StepSums sums(2), readSums(2);
  StepHeader next(2), readNext(2);
  sums.rows = 7;
  sums.losses = {1.5, 2.5};
  sums.weights = {3, 4};
  next.rows = 16777216;
  next.weights = {0, 0.25};
  tail.write(sums, next);
  tail.read(readSums, readNext);
  EXPECT_EQ(readSums.rows, 7);
  EXPECT_EQ(readSums.losses, sums.losses);
  EXPECT_EQ(readSums.weights, sums.weights);
  EXPECT_EQ(readNext.rows, 16777216);
  EXPECT_EQ(readNext.weights, next.weights);
  EXPECT_TRUE(readNext.hasWeight());
  EXPECT_FALSE(StepHeader(2).hasWeight());
}

}  // namespace
}  // namespace bloomery::train
