#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "nn/metrics/Metrics.h"

namespace bloomery::nn {

namespace {

using network::Function;

template <typename Kind>
MetricKind readOptions(Kind kind, JsonReader& options) {
  if constexpr (requires { kind.k; }) {
    kind.k = options.integer("k", kind.k);
    if (kind.k < 1) throw UserError(message("Not positive: k ", kind.k, ", in ", options.where()));
  }
  if constexpr (requires { kind.threshold; }) {
    kind.threshold = options.number("threshold", kind.threshold);
    if (!(kind.threshold >= 0 && kind.threshold <= 1)) {
      throw UserError(message("Outside 0 <= threshold <= 1: ", kind.threshold, ", in ", options.where()));
    }
  }
  return kind;
}

// The alternatives of the variant in turn, so that a new metric needs no entry here.
template <size_t index = 0>
MetricKind readKind(const std::string& kind, JsonReader& options, std::vector<std::string> known = {}) {
  if constexpr (index == std::variant_size_v<MetricKind>) {
    throw UserError(unknownName("metric", kind, known));
  } else {
    using Kind = std::variant_alternative_t<index, MetricKind>;
    for (const char* name : Kind::kNames) {
      if (kind == name) return readOptions(Kind{}, options);
      known.push_back(name);
    }
    return readKind<index + 1>(kind, options, std::move(known));
  }
}

std::unique_ptr<Metric> make(const Accuracy&, const MetricOutput& output) { return makeAccuracy(output); }
std::unique_ptr<Metric> make(const TopKAccuracy& kind, const MetricOutput& output) {
  return makeTopKAccuracy(output, kind.k);
}
std::unique_ptr<Metric> make(const Precision& kind, const MetricOutput& output) {
  return makeDecisionScore(output, DecisionScore::kPrecision, kind.threshold);
}
std::unique_ptr<Metric> make(const Recall& kind, const MetricOutput& output) {
  return makeDecisionScore(output, DecisionScore::kRecall, kind.threshold);
}
std::unique_ptr<Metric> make(const F1& kind, const MetricOutput& output) {
  return makeDecisionScore(output, DecisionScore::kF1, kind.threshold);
}
std::unique_ptr<Metric> make(const Auc&, const MetricOutput& output) { return makeAuc(output); }
std::unique_ptr<Metric> make(const SquaredErrorMetric&, const MetricOutput& output) {
  return makeErrorScore(output, ErrorScore::kSquared);
}
std::unique_ptr<Metric> make(const RootSquaredErrorMetric&, const MetricOutput& output) {
  return makeErrorScore(output, ErrorScore::kRootSquared);
}
std::unique_ptr<Metric> make(const AbsoluteErrorMetric&, const MetricOutput& output) {
  return makeErrorScore(output, ErrorScore::kAbsolute);
}
std::unique_ptr<Metric> make(const R2&, const MetricOutput& output) { return makeR2(output); }

template <typename Kind>
constexpr bool kIsError = std::is_same_v<Kind, SquaredErrorMetric> || std::is_same_v<Kind, RootSquaredErrorMetric> ||
                          std::is_same_v<Kind, AbsoluteErrorMetric> || std::is_same_v<Kind, R2>;

template <typename Kind>
void checkOutput(const Kind& kind, const std::string& name, Function function, const Shape& shape,
                 const std::string& output) {
  int64_t classes = shape.extents().back();
  bool isSoftmax = function == Function::kSoftmax;
  if (!kIsError<Kind> && function == Function::kLinear) {
    throw UserError(message("Metric ", name, " needs a softmax or sigmoid output, layer '", output,
                            "' is linear: use mae, mse, rmse or r2"));
  }
  if (std::is_same_v<Kind, TopKAccuracy> && !isSoftmax) {
    throw UserError(message("Metric ", name, " needs a softmax output, layer '", output, "' is a sigmoid"));
  }
  if (std::is_same_v<Kind, Auc> && isSoftmax && classes != 2) {
    throw UserError(message("Metric ", name, " needs a sigmoid output or two classes, layer '", output, "' has ",
                            classes, " classes"));
  }
  if constexpr (requires { kind.threshold; }) {
    if (isSoftmax && kind.threshold != 0.5) {
      throw UserError(
          message("Metric ", name, " takes a threshold for sigmoid outputs only, layer '", output, "' is a softmax"));
    }
  }
}

}  // namespace

MetricSpec readMetric(const Json& json) {
  Json object = json.is_string() ? Json{{"kind", json}} : json;
  JsonReader unnamed(object, "metric");
  std::string kind = unnamed.text("kind");
  JsonReader options(object, message("metric '", kind, "'"));
  options.text("kind");
  MetricSpec spec{options.text("name", kind), readKind(kind, options)};
  options.finish();
  return spec;
}

Json toJson(const MetricSpec& spec) {
  return std::visit(
      [&](const auto& any) {
        Json json = {{"kind", any.kNames[0]}, {"name", spec.name}};
        if constexpr (requires { any.k; }) json["k"] = any.k;
        if constexpr (requires { any.threshold; }) json["threshold"] = any.threshold;
        return json;
      },
      spec.kind);
}

bool largerIsBetter(const MetricSpec& spec) {
  return std::visit([]<typename Kind>(const Kind&) { return !kIsError<Kind> || std::is_same_v<Kind, R2>; }, spec.kind);
}

std::unique_ptr<Metric> makeMetric(const MetricSpec& spec, Function function, const Shape& shape,
                                   const std::string& output) {
  int64_t classes = shape.extents().back();
  MetricOutput made{function == Function::kSoftmax, shape.numElements() / classes, classes};
  return std::visit(
      [&](const auto& any) {
        checkOutput(any, spec.name, function, shape, output);
        return make(any, made);
      },
      spec.kind);
}

}  // namespace bloomery::nn
