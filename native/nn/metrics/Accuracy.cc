#include "nn/metrics/Metrics.h"

namespace bloomery::nn {

namespace {

// Sums: right decisions, decisions.
class Share : public Metric {
 public:
  explicit Share(const MetricOutput& output) : output_(output) {}
  size_t numSums() const override { return 2; }
  double value(std::span<const double> sums) const override { return sums[1] > 0 ? sums[0] / sums[1] : 0.0; }

 protected:
  MetricOutput output_;
};

class ClassAccuracy final : public Share {
 public:
  using Share::Share;
  bool wantsPredictions() const override { return false; }
  void add(const Scores& scores, std::span<double> sums) const override {
    int64_t lines = scores.numRows * output_.positions, right = 0;
    for (int64_t line = 0; line < lines; ++line) {
      int64_t chosen = firstLargest(scores.logits + line * output_.classes, output_.classes);
      right += chosen == classOf(scores.targets, line, output_.classes) ? 1 : 0;
    }
    sums[0] += static_cast<double>(right);
    sums[1] += static_cast<double>(lines);
  }
};

class ElementAccuracy final : public Share {
 public:
  using Share::Share;
  bool wantsPredictions() const override { return true; }
  void add(const Scores& scores, std::span<double> sums) const override {
    int64_t width = output_.width(), right = 0;
    for (int64_t row = 0; row < scores.numRows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        bool chosen = scores.predictions[row * width + i] > 0.5f;
        right += chosen == (targetOf(scores.targets, row, width, i) > 0.5f) ? 1 : 0;
      }
    }
    sums[0] += static_cast<double>(right);
    sums[1] += static_cast<double>(scores.numRows * width);
  }
};

class TopK final : public Share {
 public:
  TopK(const MetricOutput& output, int64_t k) : Share(output), k_(k) {}
  bool wantsPredictions() const override { return false; }
  void add(const Scores& scores, std::span<double> sums) const override {
    int64_t lines = scores.numRows * output_.positions, right = 0;
    for (int64_t line = 0; line < lines; ++line) {
      const float* logits = scores.logits + line * output_.classes;
      int64_t wanted = classOf(scores.targets, line, output_.classes), before = 0;
      for (int64_t i = 0; i < output_.classes; ++i) {
        before += logits[i] > logits[wanted] || (logits[i] == logits[wanted] && i < wanted) ? 1 : 0;
      }
      right += before < k_ ? 1 : 0;
    }
    sums[0] += static_cast<double>(right);
    sums[1] += static_cast<double>(lines);
  }

 private:
  int64_t k_;
};

}  // namespace

std::unique_ptr<Metric> makeAccuracy(const MetricOutput& output) {
  if (output.isSoftmax) return std::make_unique<ClassAccuracy>(output);
  return std::make_unique<ElementAccuracy>(output);
}

std::unique_ptr<Metric> makeTopKAccuracy(const MetricOutput& output, int64_t k) {
  return std::make_unique<TopK>(output, k);
}

}  // namespace bloomery::nn
