#include <cmath>

#include "nn/metrics/Metrics.h"

namespace bloomery::nn {

namespace {

// Sums: errors, elements.
class Errors final : public Metric {
 public:
  Errors(const MetricOutput& output, ErrorScore score) : output_(output), score_(score) {}
  size_t numSums() const override { return 2; }
  bool wantsPredictions() const override { return true; }

  void add(const Scores& scores, std::span<double> sums) const override {
    int64_t width = output_.width();
    double total = 0;
    for (int64_t row = 0; row < scores.numRows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        double error =
            static_cast<double>(scores.predictions[row * width + i]) - targetOf(scores.targets, row, width, i);
        total += score_ == ErrorScore::kAbsolute ? std::abs(error) : error * error;
      }
    }
    sums[0] += total;
    sums[1] += static_cast<double>(scores.numRows * width);
  }

  double value(std::span<const double> sums) const override {
    double mean = sums[1] > 0 ? sums[0] / sums[1] : 0.0;
    return score_ == ErrorScore::kRootSquared ? std::sqrt(mean) : mean;
  }

 private:
  MetricOutput output_;
  ErrorScore score_;
};

// Sums: rows, then of each element: targets, squares of targets, squared errors.
class R2Score final : public Metric {
 public:
  explicit R2Score(const MetricOutput& output) : output_(output) {}
  size_t numSums() const override { return 1 + 3 * static_cast<size_t>(output_.width()); }
  bool wantsPredictions() const override { return true; }

  void add(const Scores& scores, std::span<double> sums) const override {
    int64_t width = output_.width();
    sums[0] += static_cast<double>(scores.numRows);
    for (int64_t row = 0; row < scores.numRows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        double target = targetOf(scores.targets, row, width, i);
        double error = scores.predictions[row * width + i] - target;
        double* element = &sums[1 + 3 * static_cast<size_t>(i)];
        element[0] += target;
        element[1] += target * target;
        element[2] += error * error;
      }
    }
  }

  double value(std::span<const double> sums) const override {
    if (sums[0] == 0) return 0;
    double total = 0;
    for (size_t i = 1; i < sums.size(); i += 3) {
      double variation = sums[i + 1] - sums[i] * sums[i] / sums[0];
      // What rounding leaves of targets that are all the same.
      bool varies = variation > 1e-12 * sums[i + 1];
      total += varies ? 1 - sums[i + 2] / variation : (sums[i + 2] == 0 ? 1.0 : 0.0);
    }
    return total / static_cast<double>(output_.width());
  }

 private:
  MetricOutput output_;
};

}  // namespace

std::unique_ptr<Metric> makeErrorScore(const MetricOutput& output, ErrorScore score) {
  return std::make_unique<Errors>(output, score);
}

std::unique_ptr<Metric> makeR2(const MetricOutput& output) { return std::make_unique<R2Score>(output); }

}  // namespace bloomery::nn
