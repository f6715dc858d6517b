#include "nn/metrics/Metrics.h"

namespace bloomery::nn {

namespace {

// Sums of each class (of a sigmoid output: of its positives alone): rightly chosen, chosen, wanted.
class DecisionScores final : public Metric {
 public:
  DecisionScores(const MetricOutput& output, DecisionScore score, double threshold)
      : output_(output), score_(score), threshold_(static_cast<float>(threshold)) {}

  size_t numSums() const override { return 3 * static_cast<size_t>(output_.isSoftmax ? output_.classes : 1); }
  bool wantsPredictions() const override { return !output_.isSoftmax; }

  void add(const Scores& scores, std::span<double> sums) const override {
    if (output_.isSoftmax) {
      for (int64_t line = 0; line < scores.numRows * output_.positions; ++line) {
        int64_t chosen = firstLargest(scores.logits + line * output_.classes, output_.classes);
        int64_t wanted = classOf(scores.targets, line, output_.classes);
        if (chosen == wanted) sums[static_cast<size_t>(3 * chosen)] += 1;
        sums[static_cast<size_t>(3 * chosen + 1)] += 1;
        sums[static_cast<size_t>(3 * wanted + 2)] += 1;
      }
      return;
    }
    int64_t width = output_.width();
    for (int64_t row = 0; row < scores.numRows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        bool chosen = scores.predictions[row * width + i] > threshold_;
        bool wanted = targetOf(scores.targets, row, width, i) > 0.5f;
        sums[0] += chosen && wanted ? 1 : 0;
        sums[1] += chosen ? 1 : 0;
        sums[2] += wanted ? 1 : 0;
      }
    }
  }

  double value(std::span<const double> sums) const override {
    double total = 0, numClasses = 0;
    for (size_t i = 0; i < sums.size(); i += 3) {
      double right = sums[i], chosen = sums[i + 1], wanted = sums[i + 2];
      if (chosen + wanted == 0) continue;
      numClasses += 1;
      double divisor = score_ == DecisionScore::kPrecision ? chosen
                       : score_ == DecisionScore::kRecall  ? wanted
                                                           : (chosen + wanted) / 2;
      total += divisor > 0 ? right / divisor : 0.0;
    }
    return numClasses > 0 ? total / numClasses : 0.0;
  }

 private:
  MetricOutput output_;
  DecisionScore score_;
  float threshold_;
};

}  // namespace

std::unique_ptr<Metric> makeDecisionScore(const MetricOutput& output, DecisionScore score, double threshold) {
  return std::make_unique<DecisionScores>(output, score, threshold);
}

}  // namespace bloomery::nn
