#include "nn/CrossEntropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/Error.h"
#include "nn/Softmax.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

struct Problem {
  explicit Problem(int64_t batch, int64_t classes, int64_t numRows)
      : logits(randomFloats(batch * classes, 3, 4.0f)),
        gradients(logits.size(), NAN),
        batchSize(batch),
        numClasses(classes) {
    for (int64_t row = 0; row < numRows; ++row) {
      labels.push_back(static_cast<int32_t>(row * 7 % classes));
      weights.push_back(0.5f + static_cast<float>(row % 4));
      weightSum += weights.back();
    }
  }
  LossSums run() { return softmaxCrossEntropy(view(logits), labels, weights, weightSum, view(gradients)); }
  TensorView view(std::vector<float>& values) const { return {values.data(), Shape{batchSize, numClasses}}; }

  std::vector<float> logits, gradients;
  int64_t batchSize, numClasses;
  std::vector<int32_t> labels;
  std::vector<float> weights;
  double weightSum = 0;
};

TEST(LossTest, sumsAndGradientsFollowTheDefinition) {
  for (auto [batch, classes, numRows] :
       {std::tuple(5, 10, 5), std::tuple(7, 3, 4), std::tuple(200, 500, 190), std::tuple(1, 2, 1)}) {
    Problem problem(batch, classes, numRows);
    LossSums sums = problem.run();
    double loss = 0;
    int64_t correct = 0;
    for (int64_t row = 0; row < batch; ++row) {
      const float* logits = problem.logits.data() + row * classes;
      const float* gradient = problem.gradients.data() + row * classes;
      if (row >= numRows) {
        for (int64_t i = 0; i < classes; ++i) EXPECT_EQ(gradient[i], 0.0f);
        continue;
      }
      double sum = 0, weight = problem.weights[static_cast<size_t>(row)];
      int32_t label = problem.labels[static_cast<size_t>(row)];
      for (int64_t i = 0; i < classes; ++i) sum += std::exp(double{logits[i]});
      loss -= weight * std::log(std::exp(double{logits[label]}) / sum);
      bool isLargest = true;
      for (int64_t i = 0; i < classes; ++i) {
        double expected = (std::exp(double{logits[i]}) / sum - (i == label ? 1 : 0)) * weight / problem.weightSum;
        EXPECT_NEAR(gradient[i], expected, 1e-6);
        isLargest = isLargest && logits[i] <= logits[label];
      }
      correct += isLargest ? 1 : 0;
    }
    EXPECT_NEAR(sums.loss, loss, 1e-5 * loss);
    EXPECT_DOUBLE_EQ(sums.weight, problem.weightSum);
    EXPECT_EQ(sums.correct, correct);
    EXPECT_EQ(sums.rows, numRows);
  }
}

TEST(LossTest, evaluatesWithoutGradients) {
  Problem problem(5, 10, 5);
  LossSums with = problem.run();
  LossSums without = softmaxCrossEntropy(problem.view(problem.logits), problem.labels, problem.weights, 1.0, {});
  EXPECT_EQ(with.loss, without.loss);
  EXPECT_EQ(with.correct, without.correct);
}

TEST(LossTest, survivesLogitsOfAnySize) {
  Problem problem(2, 3, 2);
  problem.logits = {1000.0f, -1000.0f, 0.0f, 80.0f, 90.0f, -90.0f};
  problem.labels = {1, 1};
  problem.weights = {1.0f, 1.0f};
  problem.weightSum = 2;
  LossSums sums = problem.run();
  EXPECT_NEAR(sums.loss, 2000.0, 1e-3);
  EXPECT_EQ(sums.correct, 1);
  for (float gradient : problem.gradients) EXPECT_TRUE(std::isfinite(gradient));
}

TEST(LossTest, weightsOfTwoGiveTheBitsOfNone) {
  Problem ones(9, 10, 9), twos(9, 10, 9);
  ones.weights.assign(9, 1.0f);
  ones.weightSum = 9;
  twos.weights.assign(9, 2.0f);
  twos.weightSum = 18;
  LossSums a = ones.run(), b = twos.run();
  EXPECT_EQ(ones.gradients, twos.gradients);
  EXPECT_EQ(a.loss / a.weight, b.loss / b.weight);
}

TEST(LossTest, weightSumOfZeroGivesNoGradient) {
  Problem problem(3, 4, 3);
  problem.weights.assign(3, 0.0f);
  problem.weightSum = 0;
  problem.run();
  for (float gradient : problem.gradients) EXPECT_EQ(gradient, 0.0f);
}

TEST(LossTest, nanLogitsGiveNanLoss) {
  Problem problem(3, 4, 3);
  problem.logits[5] = NAN;
  EXPECT_TRUE(std::isnan(problem.run().loss));
}

TEST(LossTest, labelOutOfRangeIsRefused) {
  Problem problem(3, 4, 3);
  problem.labels[1] = 4;
  EXPECT_THROW(problem.run(), InternalError);
}

TEST(LossTest, softmaxRowsSumToOneAndMayBeInPlace) {
  std::vector<float> logits = randomFloats(6 * 11, 4, 5.0f), out(logits.size()), inPlace = logits;
  softmaxRows(logits.data(), 6, 11, out.data());
  softmaxRows(inPlace.data(), 6, 11, inPlace.data());
  EXPECT_EQ(out, inPlace);
  for (size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (size_t i = row * 11; i < row * 11 + 11; ++i) sum += out[i];
    EXPECT_NEAR(sum, 1.0, 1e-6);
    EXPECT_NEAR(out[row * 11 + 1] / out[row * 11], std::exp(logits[row * 11 + 1] - logits[row * 11]),
                1e-3 * out[row * 11 + 1] / out[row * 11]);
  }
}

}  // namespace

}  // namespace bloomery::nn
