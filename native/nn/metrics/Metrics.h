// What the metrics' files share: the output a metric is made for, and how targets and decisions are read.
#pragma once

#include <algorithm>

#include "nn/Metric.h"

namespace bloomery::nn {

struct MetricOutput {
  bool isSoftmax;     // else each element decides by itself
  int64_t positions;  // lines of a row
  int64_t classes;    // elements of a line
  int64_t width() const { return positions * classes; }
};

inline int64_t firstLargest(const float* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

// The class that a line should have.
inline int64_t classOf(const Targets& targets, int64_t line, int64_t classes) {
  return targets.classes != nullptr ? targets.classes[line] : firstLargest(targets.values + line * classes, classes);
}

// The value that one element of a row should have.
inline float targetOf(const Targets& targets, int64_t row, int64_t width, int64_t element) {
  if (targets.values != nullptr) return targets.values[row * width + element];
  return targets.classes[row] == element ? 1.0f : 0.0f;
}

std::unique_ptr<Metric> makeAccuracy(const MetricOutput& output);
std::unique_ptr<Metric> makeTopKAccuracy(const MetricOutput& output, int64_t k);

enum class DecisionScore { kPrecision, kRecall, kF1 };
std::unique_ptr<Metric> makeDecisionScore(const MetricOutput& output, DecisionScore score, double threshold);

std::unique_ptr<Metric> makeAuc(const MetricOutput& output);

enum class ErrorScore { kSquared, kRootSquared, kAbsolute };
std::unique_ptr<Metric> makeErrorScore(const MetricOutput& output, ErrorScore score);
std::unique_ptr<Metric> makeR2(const MetricOutput& output);

}  // namespace bloomery::nn
