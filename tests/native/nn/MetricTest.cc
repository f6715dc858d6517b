#include "nn/Metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Random.h"
#include "nn/Softmax.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

using network::Function;

// Rows of one output, of which any part can be measured.
struct Rows {
  Function function;
  Shape shape;
  std::vector<float> logits;
  std::vector<int32_t> classes = {};
  std::vector<float> values = {};

  int64_t count() const { return static_cast<int64_t>(logits.size()) / shape.numElements(); }

  // In batches that end at these rows.
  double measure(const Json& metric, std::vector<int64_t> ends = {}) const {
    auto made = makeMetric(readMetric(metric), function, shape, "out");
    int64_t width = shape.numElements(), last = shape.extents().back(), first = 0;
    std::vector<float> predictions(logits.size());
    applyTail(function, logits.data(), count() * width / last, last, predictions.data());
    std::vector<double> sums(made->numSums());
    ends.push_back(count());
    for (int64_t end : ends) {
      std::vector<double> part(made->numSums());  // as of another worker
      Targets targets{classes.empty() ? nullptr : classes.data() + first,
                      values.empty() ? nullptr : values.data() + first * width};
      made->add({logits.data() + first * width, made->wantsPredictions() ? predictions.data() + first * width : nullptr,
                 targets, end - first},
                part);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
      first = end;
    }
    return made->value(sums);
  }
};

// Chosen: 0 1 2 0 2 1, wanted: 0 1 1 2 2 1.
const Rows kClasses{
    Function::kSoftmax, {3}, {5, 1, 0, 1, 5, 0, 0, 1, 5, 5, 1, 3, 0, 1, 5, 0, 3, 1}, {0, 1, 1, 2, 2, 1}};

TEST(MetricTest, softmaxOutputs) {
  EXPECT_DOUBLE_EQ(kClasses.measure("accuracy"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(kClasses.measure({{"kind", "top_k_categorical_accuracy"}, {"k", 1}}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(kClasses.measure({{"kind", "top_k_categorical_accuracy"}, {"k", 2}}), 1.0);
  EXPECT_DOUBLE_EQ(kClasses.measure("top_k_categorical_accuracy"), 1.0);
  EXPECT_DOUBLE_EQ(kClasses.measure("precision"), (1.0 / 2 + 2.0 / 2 + 1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(kClasses.measure("recall"), (1.0 + 2.0 / 3 + 1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(kClasses.measure("f1"), (2.0 / 3 + 4.0 / 5 + 2.0 / 4) / 3);
}

TEST(MetricTest, vectorsCountAsTheClassOfTheirLargestValue) {
  Rows vectors = kClasses;
  for (int32_t label : kClasses.classes) {
    for (int32_t i = 0; i < 3; ++i) vectors.values.push_back(i == label ? 0.6f : 0.2f);
  }
  vectors.classes.clear();
  for (const char* name : {"accuracy", "precision", "recall", "f1", "top_k_categorical_accuracy"}) {
    EXPECT_EQ(vectors.measure(name), kClasses.measure(name)) << name;
  }
}

TEST(MetricTest, classesThatNeverOccurDoNotCount) {
  Rows two{Function::kSoftmax, {4}, {5, 1, 0, 0, 1, 5, 0, 0}, {0, 1}};
  for (const char* name : {"precision", "recall", "f1"}) EXPECT_DOUBLE_EQ(two.measure(name), 1.0) << name;
}

// Chosen: 1 1 0 0 1, wanted: 1 0 0 1 1.
const Rows kBinary{Function::kSigmoid, {1}, {2, 1, -1, -2, 3}, {}, {1, 0, 0, 1, 1}};

TEST(MetricTest, sigmoidOutputs) {
  EXPECT_DOUBLE_EQ(kBinary.measure("accuracy"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(kBinary.measure("precision"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(kBinary.measure("recall"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(kBinary.measure("f1"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(kBinary.measure({{"kind", "precision"}, {"threshold", 0.9}}), 1.0);
  EXPECT_DOUBLE_EQ(kBinary.measure({{"kind", "recall"}, {"threshold", 0.9}}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(kBinary.measure("auc"), 4.0 / 6);  // 2 > 1, 2 > -1, 3 > 1, 3 > -1; -2 below both
}

TEST(MetricTest, severalLabelsAtOnceAreDecidedOneByOne) {
  Rows rows{Function::kSigmoid, {2}, {2, -1, 3, 1}, {}, {1, 1, 0, 1}};
  EXPECT_DOUBLE_EQ(rows.measure("accuracy"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(rows.measure("precision"), 2.0 / 3);
}

TEST(MetricTest, errorsOfPredictions) {
  Rows rows{Function::kLinear, {2}, {1, 2, 3, 4, 5, 9}, {}, {1, 0, 4, 4, 7, 8}};
  EXPECT_DOUBLE_EQ(rows.measure("mse"), (0 + 4 + 1 + 0 + 4 + 1) / 6.0);
  EXPECT_DOUBLE_EQ(rows.measure("rmse"), std::sqrt(10 / 6.0));
  EXPECT_DOUBLE_EQ(rows.measure("mae"), (0 + 2 + 1 + 0 + 2 + 1) / 6.0);
  // Targets 1 4 7 vary by 18, 0 4 8 by 32.
  EXPECT_NEAR(rows.measure("r2"), ((1 - 5 / 18.0) + (1 - 5 / 32.0)) / 2, 1e-12);
  Rows constant{Function::kLinear, {1}, {3, 3}, {}, {3, 3}};
  EXPECT_EQ(constant.measure("r2"), 1.0);
  constant.logits[0] = 4;
  EXPECT_EQ(constant.measure("r2"), 0.0);
}

TEST(MetricTest, errorsBehindASoftmaxAreAgainstOneHotVectors) {
  Rows rows{Function::kSoftmax, {2}, {0, 0, 0, 0}, {0, 1}};
  EXPECT_DOUBLE_EQ(rows.measure("mse"), 0.25);
  EXPECT_DOUBLE_EQ(rows.measure("mae"), 0.5);
}

TEST(MetricTest, r2SurvivesTargetsFarFromZero) {
  Rows rows{Function::kLinear, {1}, {}, {}, {}};
  for (int i = 0; i < 1000; ++i) {
    rows.values.push_back(100000.0f + static_cast<float>(i % 10));
    rows.logits.push_back(100000.0f + static_cast<float>(i % 10) + (i % 2 == 0 ? 1.0f : -1.0f));
  }
  EXPECT_NEAR(rows.measure("r2"), 1 - 1 / 8.25, 1e-6);
}

TEST(MetricTest, anySplitIntoBatchesAndWorkersGivesTheSame) {
  Rows softmax{Function::kSoftmax, {4}, randomFloats(400, 3, 3.0f), {}, {}};
  for (int32_t i = 0; i < 100; ++i)
    softmax.classes.push_back(static_cast<int32_t>(philox(4, 5, static_cast<uint64_t>(i))[0] % 4));
  for (const char* name : {"accuracy", "top_k_categorical_accuracy", "precision", "recall", "f1"}) {
    EXPECT_EQ(softmax.measure(name), softmax.measure(name, {1, 40, 40, 99})) << name;
  }
  Rows sigmoid{Function::kSigmoid, {2}, randomFloats(400, 3, 3.0f), {}, {}};
  for (uint64_t i = 0; i < 400; ++i) sigmoid.values.push_back(static_cast<float>(philox(6, 7, i)[0] % 2));
  for (const char* name : {"accuracy", "auc", "mse", "rmse", "mae", "r2"}) {
    EXPECT_NEAR(sigmoid.measure(name), sigmoid.measure(name, {1, 40, 40, 199}), 1e-12) << name;
  }
}

double exactAuc(const std::vector<float>& scores, const std::vector<float>& wanted) {
  std::vector<size_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double pairs = 0, positives = 0, negatives = 0;
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    double tiedPositives = 0, tiedNegatives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[first]]; ++end) {
      (wanted[order[end]] > 0.5f ? tiedPositives : tiedNegatives) += 1;
    }
    pairs += tiedPositives * (negatives + tiedNegatives / 2);
    positives += tiedPositives;
    negatives += tiedNegatives;
    first = end;
  }
  return pairs / (positives * negatives);
}

TEST(AucTest, binsCostLessThanOneInTenThousand) {
  for (double spread : {0.5, 1.0, 4.0, 20.0, 300.0}) {
    for (double distance : {0.0, 0.3, 2.0}) {
      Rows rows{Function::kSigmoid, {1}, {}, {}, {}};
      for (uint64_t i = 0; i < 20000; ++i) {
        RandomBlock random = philox(11, i, static_cast<uint64_t>(spread * 100 + distance * 7));
        bool positive = random[2] % 3 == 0;
        double radius = std::sqrt(-2 * std::log(1.0 - uniformFloat(random[0])));
        double normal = radius * std::cos(2 * std::numbers::pi * uniformFloat(random[1]));
        rows.logits.push_back(static_cast<float>(spread * (normal + (positive ? distance : 0.0) - 1)));
        rows.values.push_back(positive ? 1.0f : 0.0f);
      }
      EXPECT_NEAR(rows.measure("auc"), exactAuc(rows.logits, rows.values), 1e-4) << spread << " " << distance;
    }
  }
}

TEST(AucTest, twoClassesAreAsOneDecision) {
  Rows two{Function::kSoftmax, {2}, {0, 2, 0, 1, 0, -1, 0, -2, 0, 3}, {1, 0, 0, 1, 1}};
  EXPECT_DOUBLE_EQ(two.measure("auc"), kBinary.measure("auc"));
}

TEST(AucTest, oneKindOfRowsAloneGivesZero) {
  EXPECT_EQ((Rows{Function::kSigmoid, {1}, {1, 2}, {}, {1, 1}}.measure("auc")), 0.0);
}

std::string errorOf(const Json& metric, Function function, Shape shape) {
  try {
    makeMetric(readMetric(metric), function, shape, "out");
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(MetricSpecTest, whatDoesNotFitIsRefusedInOneSentence) {
  EXPECT_EQ(errorOf("acuracy", Function::kSoftmax, {3}), "Unknown metric: acuracy, nearest known: accuracy");
  EXPECT_EQ(errorOf("accuracy", Function::kLinear, {1}),
            "Metric accuracy needs a softmax or sigmoid output, layer 'out' is linear: use mae, mse, rmse or r2");
  EXPECT_EQ(errorOf("auc", Function::kSoftmax, {3}),
            "Metric auc needs a sigmoid output or two classes, layer 'out' has 3 classes");
  EXPECT_EQ(errorOf("top_k_categorical_accuracy", Function::kSigmoid, {3}),
            "Metric top_k_categorical_accuracy needs a softmax output, layer 'out' is a sigmoid");
  EXPECT_EQ(errorOf({{"kind", "top_k_categorical_accuracy"}, {"k", 0}}, Function::kSoftmax, {3}),
            "Not positive: k 0, in metric 'top_k_categorical_accuracy'");
  EXPECT_EQ(errorOf({{"kind", "precision"}, {"threshold", 0.3}}, Function::kSoftmax, {3}),
            "Metric precision takes a threshold for sigmoid outputs only, layer 'out' is a softmax");
  EXPECT_EQ(errorOf({{"kind", "precision"}, {"threshold", 1.3}}, Function::kSigmoid, {1}),
            "Outside 0 <= threshold <= 1: 1.3, in metric 'precision'");
}

TEST(MetricSpecTest, isReportedUnderTheNameTheUserGave) {
  EXPECT_EQ(readMetric("acc").name, "acc");
  EXPECT_EQ(readMetric({{"kind", "top_k_categorical_accuracy"}, {"k", 3}, {"name", "top3"}}).name, "top3");
  Json json = toJson(readMetric({{"kind", "top_k_categorical_accuracy"}, {"k", 3}, {"name", "top3"}}));
  EXPECT_EQ(toJson(readMetric(json)), json);
}

}  // namespace

}  // namespace bloomery::nn
