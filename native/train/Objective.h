// The losses and metrics of all outputs of a network, made ready for one batch size. Keeps no sums: they are the
// caller's, who adds them up over batches and workers. Used on the compute thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/Batch.h"
#include "nn/Plan.h"
#include "train/Head.h"

namespace bloomery::train {

// Means over rows. With several outputs the metrics begin with the loss of each.
struct Measures {
  double loss = 0;              // the outputs' losses, each times its loss weight
  std::vector<double> metrics;  // by name
};

class Objective {
 public:
  // The heads are borrowed.
  Objective(const std::vector<Head>& heads, int64_t batchSize);

  size_t numOutputs() const { return heads_.size(); }
  size_t numMetricSums() const { return numMetricSums_; }

  // For the plan's last forward, of this batch: the sum of weight * loss of each output into `losses`; adds to the
  // metric sums. Where weight sums are given (by output, over all workers) it writes the gradients.
  void compute(const nn::Plan& plan, const data::Batch& batch, std::span<const double> weightSums,
               std::span<double> losses, std::span<double> metricSums);

  // By the metric sums of an epoch, over all workers: this output was the same for all rows of each batch, and there
  // was a batch of at least two.
  bool isConstant(size_t output, std::span<const double> metricSums) const;

  // From sums of losses and weights by output, and of the metrics. Allocates nothing once `measures` has its size.
  void measure(std::span<const double> losses, std::span<const double> weights, std::span<const double> metricSums,
               Measures& measures) const;

 private:
  struct Output {
    std::vector<std::unique_ptr<nn::Metric>> metrics;
    std::vector<float> predictions;  // [batch, output]; empty when no metric wants them
  };

  // Behind the sums of all metrics, for each output: batches of at least two rows, and those with rows that differ.
  enum Variation : size_t { kBatches, kVarying, kVariationSums };
  void addVariation(const float* logits, int64_t numRows, int64_t width, std::span<double> sums) const;
  size_t firstVariationSum(size_t output) const { return numMetricSums_ - kVariationSums * (heads_.size() - output); }

  const std::vector<Head>& heads_;
  std::vector<Output> outputs_;
  size_t numMetricSums_ = 0;
  const TensorView none_;  // gradients that nobody wants
};

// Names of Measures::metrics: "accuracy", or, with several outputs, "a_loss", "b_loss", "a_accuracy".
std::vector<std::string> metricNames(const std::vector<Head>& heads);

}  // namespace bloomery::train
