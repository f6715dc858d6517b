#include "train/Objective.h"

#include <algorithm>

#include "nn/Softmax.h"

namespace bloomery::train {

Objective::Objective(const std::vector<Head>& heads, int64_t batchSize) : heads_(heads) {
  for (const Head& head : heads) {
    Output output;
    bool wantsPredictions = false;
    for (const nn::MetricSpec& spec : head.metrics) {
      output.metrics.push_back(nn::makeMetric(spec, head.prediction(), head.output.shape, head.output.name));
      wantsPredictions = wantsPredictions || output.metrics.back()->wantsPredictions();
      numMetricSums_ += output.metrics.back()->numSums();
    }
    if (wantsPredictions) output.predictions.resize(static_cast<size_t>(batchSize * head.output.shape.numElements()));
    outputs_.push_back(std::move(output));
  }
  numMetricSums_ += kVariationSums * heads.size();
}

void Objective::compute(const nn::Plan& plan, const data::Batch& batch, std::span<const double> weightSums,
                        std::span<double> losses, std::span<double> metricSums) {
  size_t firstSum = 0;
  for (size_t i = 0; i < heads_.size(); ++i) {
    const Head& head = heads_[i];
    const data::Batch::Target& target = batch.targets[i];
    const TensorView& logits = plan.logits(i);
    nn::Targets targets{target.isClass ? target.classes.data() : nullptr,
                        target.isClass ? nullptr : target.values.data()};
    std::span weights(target.weights.data(), static_cast<size_t>(batch.numRows));
    double factor = weightSums.empty() || weightSums[i] <= 0 ? 0.0 : head.lossWeight / weightSums[i];
    losses[i] = nn::computeLoss(head.loss, head.output.tail, logits, targets, weights, factor,
                                weightSums.empty() ? none_ : plan.logitGradients(i));

    std::vector<float>& predictions = outputs_[i].predictions;
    if (!predictions.empty()) {
      int64_t classes = head.output.shape.extents().back();
      int64_t lines = batch.numRows * head.output.shape.numElements() / classes;
      nn::applyTail(head.prediction(), logits.data, lines, classes, predictions.data());
    }
    nn::Scores scores{logits.data, predictions.empty() ? nullptr : predictions.data(), targets, batch.numRows};
    for (const auto& metric : outputs_[i].metrics) {
      metric->add(scores, metricSums.subspan(firstSum, metric->numSums()));
      firstSum += metric->numSums();
    }
    addVariation(logits.data, batch.numRows, head.output.shape.numElements(),
                 metricSums.subspan(firstVariationSum(i), kVariationSums));
  }
}

// Ends at the first value that differs, which is nearly always in the second row; and an epoch needs only one batch.
void Objective::addVariation(const float* logits, int64_t numRows, int64_t width, std::span<double> sums) const {
  if (numRows < 2 || sums[kVarying] > 0) return;
  sums[kBatches] += 1;
  bool same = std::equal(logits + width, logits + numRows * width, logits);
  if (!same) sums[kVarying] += 1;
}

bool Objective::isConstant(size_t output, std::span<const double> metricSums) const {
  std::span<const double> sums = metricSums.subspan(firstVariationSum(output), kVariationSums);
  return sums[kBatches] > 0 && sums[kVarying] == 0;
}

void Objective::measure(std::span<const double> losses, std::span<const double> weights,
                        std::span<const double> metricSums, Measures& measures) const {
  measures.loss = 0;
  measures.metrics.clear();
  for (size_t i = 0; i < heads_.size(); ++i) {
    double loss = weights[i] > 0 ? losses[i] / weights[i] : 0.0;
    measures.loss += heads_[i].lossWeight * loss;
    if (heads_.size() > 1) measures.metrics.push_back(loss);
  }
  size_t firstSum = 0;
  for (const Output& output : outputs_) {
    for (const auto& metric : output.metrics) {
      measures.metrics.push_back(metric->value(metricSums.subspan(firstSum, metric->numSums())));
      firstSum += metric->numSums();
    }
  }
}

std::vector<std::string> metricNames(const std::vector<Head>& heads) {
  std::vector<std::string> names;
  bool several = heads.size() > 1;
  for (const Head& head : heads) {
    if (several) names.push_back(head.output.name + "_loss");
  }
  for (const Head& head : heads) {
    for (const nn::MetricSpec& metric : head.metrics) {
      names.push_back((several ? head.output.name + "_" : "") + metric.name);
    }
  }
  return names;
}

}  // namespace bloomery::train
