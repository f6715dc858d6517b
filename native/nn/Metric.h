// The metrics: each is a fixed number of sums over rows, which are added up over batches and workers, and a function of
// the sums; so a metric is of the whole set on any number of workers. Rows are not weighted, as in Keras.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/Json.h"
#include "network/Graph.h"
#include "nn/Targets.h"

namespace bloomery::nn {

// An output that predicts by softmax chooses one class, the first of the largest; one that predicts by sigmoid decides
// each element by itself, 1 above the threshold. Metrics of decisions need one of the two.
struct Accuracy {
  static constexpr const char* kNames[] = {"accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy",
                                           "binary_accuracy"};
};

// Whether the target's class is among the k largest.
struct TopKAccuracy {
  static constexpr const char* kNames[] = {"top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"};
  int64_t k = 5;
};

// Of a sigmoid output: over all its elements. Of a softmax output: computed for each class and averaged over the
// classes that occur in targets or predictions (macro average). What would be divided by 0 is 0.
struct Precision {
  static constexpr const char* kNames[] = {"precision"};
  double threshold = 0.5;
};

struct Recall {
  static constexpr const char* kNames[] = {"recall"};
  double threshold = 0.5;
};

struct F1 {
  static constexpr const char* kNames[] = {"f1", "f1_score"};
  double threshold = 0.5;
};

// The area under the ROC curve of a sigmoid output (over all its elements) or of a softmax output of two classes. The
// scores are logits z, counted in 2^14 equal bins of z / (8 + |z|): about 0.001 wide at z = 0, 0.004 at 8. Pairs of a
// positive and a negative in one bin count half, so the error is at most half of their share among all pairs, and far
// smaller, below 1e-4, where scores spread over a logit or more.
struct Auc {
  static constexpr const char* kNames[] = {"auc"};
};

// Of the predictions, so behind the softmax or sigmoid; means over elements, then rows.
struct SquaredErrorMetric {
  static constexpr const char* kNames[] = {"mse", "mean_squared_error"};
};

struct RootSquaredErrorMetric {
  static constexpr const char* kNames[] = {"rmse", "root_mean_squared_error"};
};

struct AbsoluteErrorMetric {
  static constexpr const char* kNames[] = {"mae", "mean_absolute_error"};
};

// 1 - squared error / variance, for each element and then averaged. Where the targets do not vary it is 1 for
// predictions without error, else 0.
struct R2 {
  static constexpr const char* kNames[] = {"r2", "r2_score"};
};

using MetricKind = std::variant<Accuracy, TopKAccuracy, Precision, Recall, F1, Auc, SquaredErrorMetric,
                                RootSquaredErrorMetric, AbsoluteErrorMetric, R2>;

struct MetricSpec {
  std::string name;  // under which it is reported: as the user wrote it
  MetricKind kind;
};

// From "accuracy" or {"kind": "top_k_categorical_accuracy", "k": 3, "name": "top3"}; unknown kinds and options are
// UserErrors.
MetricSpec readMetric(const Json& json);
Json toJson(const MetricSpec& spec);
// Else a metric is an error, the better the smaller.
bool largerIsBetter(const MetricSpec& spec);

// The rows of one batch at one output.
struct Scores {
  const float* logits = nullptr;       // [rows, output]: before the softmax or sigmoid
  const float* predictions = nullptr;  // [rows, output]: behind it; may be null unless a metric wants it
  Targets targets;
  int64_t numRows = 0;
};

class Metric {
 public:
  virtual ~Metric() = default;
  virtual size_t numSums() const = 0;
  virtual bool wantsPredictions() const = 0;
  // Adds the rows to `sums`, which has numSums() elements.
  virtual void add(const Scores& scores, std::span<double> sums) const = 0;
  // Of at least one row; 0 for none.
  virtual double value(std::span<const double> sums) const = 0;
};

// For an output of this shape that predicts by `function`. UserError when the metric makes no sense there; `output`
// names it.
std::unique_ptr<Metric> makeMetric(const MetricSpec& spec, network::Function function, const Shape& shape,
                                   const std::string& output);

}  // namespace bloomery::nn
