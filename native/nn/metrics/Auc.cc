#include <cmath>

#include "nn/metrics/Metrics.h"

namespace bloomery::nn {

namespace {

constexpr size_t kBins = size_t{1} << 14;

size_t binOf(double score) {
  if (std::isnan(score)) return 0;
  double place = std::isinf(score) ? (score > 0 ? 1.0 : -1.0) : score / (8 + std::abs(score));  // in [-1, 1]
  return std::min(kBins - 1, static_cast<size_t>((place + 1) / 2 * static_cast<double>(kBins)));
}

// Sums: negatives by bin, positives by bin.
class AreaUnderCurve final : public Metric {
 public:
  explicit AreaUnderCurve(const MetricOutput& output) : output_(output) {}
  size_t numSums() const override { return 2 * kBins; }
  bool wantsPredictions() const override { return false; }

  void add(const Scores& scores, std::span<double> sums) const override {
    auto count = [&](double score, bool positive) { sums[binOf(score) + (positive ? kBins : 0)] += 1; };
    int64_t width = output_.width();
    for (int64_t row = 0; row < scores.numRows; ++row) {
      const float* logits = scores.logits + row * width;
      if (output_.isSoftmax) {
        for (int64_t line = 0; line < output_.positions; ++line) {
          bool positive = classOf(scores.targets, row * output_.positions + line, 2) == 1;
          count(static_cast<double>(logits[2 * line + 1]) - logits[2 * line], positive);
        }
      } else {
        for (int64_t i = 0; i < width; ++i) count(logits[i], targetOf(scores.targets, row, width, i) > 0.5f);
      }
    }
  }

  // The share of pairs in which the positive scores higher.
  double value(std::span<const double> sums) const override {
    double negatives = 0, positives = 0, pairs = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      pairs += sums[kBins + bin] * (negatives + sums[bin] / 2);
      negatives += sums[bin];
      positives += sums[kBins + bin];
    }
    return negatives > 0 && positives > 0 ? pairs / (negatives * positives) : 0.0;
  }

 private:
  MetricOutput output_;
};

}  // namespace

std::unique_ptr<Metric> makeAuc(const MetricOutput& output) { return std::make_unique<AreaUnderCurve>(output); }

}  // namespace bloomery::nn
