#include "train/EarlyStopping.h"

#include <algorithm>
#include <cmath>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"

namespace bloomery::train {

namespace {

const std::string kValidation = "validation_";

// A measure beside the loss.
struct Monitored {
  std::string name;
  bool largerIsBetter;
};

// In the order of Measures::metrics.
std::vector<Monitored> monitoredOf(const std::vector<Head>& heads) {
  std::vector<bool> larger(heads.size() > 1 ? heads.size() : 0, false);  // losses of several outputs
  for (const Head& head : heads) {
    for (const nn::MetricSpec& metric : head.metrics) larger.push_back(nn::largerIsBetter(metric));
  }
  std::vector<std::string> names = metricNames(heads);
  check(names.size() == larger.size(), "Metrics without a name: ", larger.size(), ", names: ", names.size());
  std::vector<Monitored> monitored;
  for (size_t i = 0; i < names.size(); ++i) monitored.push_back({names[i], larger[i]});
  return monitored;
}

std::string withoutPrefix(const std::string& monitor) {
  return monitor.starts_with(kValidation) ? monitor.substr(kValidation.size()) : monitor;
}

void checkMonitor(const std::string& monitor, const std::vector<Head>& heads, bool validates) {
  std::vector<std::string> known = {"loss"};
  for (const Monitored& one : monitoredOf(heads)) known.push_back(one.name);
  size_t count = known.size();
  for (size_t i = 0; i < count; ++i) known.push_back(kValidation + known[i]);
  if (std::find(known.begin(), known.end(), monitor) == known.end()) {
    throw UserError(unknownName("monitor", monitor, known));
  }
  if (monitor.starts_with(kValidation) && !validates) {
    throw UserError(message("No rows are for validation, which monitor ", monitor,
                            " watches: set validationIndicatorCol or validationFraction, or monitor to \"",
                            withoutPrefix(monitor), "\""));
  }
}

}  // namespace

bool StoppingSpec::onValidation() const { return on() && monitor.starts_with(kValidation); }

StoppingSpec StoppingSpec::read(JsonReader& training, const std::vector<Head>& heads, bool validates) {
  StoppingSpec spec;
  if (training.has("earlyStoppingPatience")) {
    spec.patience = training.integer("earlyStoppingPatience");
    if (*spec.patience < 1) {
      throw UserError(message("Not positive: earlyStoppingPatience ", *spec.patience, ", give at least 1 epoch"));
    }
  }
  spec.restoresBest = training.boolean("restoreBestWeights", false);
  spec.minDelta = training.number("earlyStoppingMinDelta", spec.minDelta);
  if (!(spec.minDelta >= 0 && std::isfinite(spec.minDelta))) {
    throw UserError(message("Not a finite number of at least 0: earlyStoppingMinDelta ", spec.minDelta));
  }
  bool hasMonitor = training.has("monitor");
  std::string monitor = training.text("monitor", validates ? kValidation + "loss" : "loss");
  if (!spec.on()) {
    if (hasMonitor || training.has("earlyStoppingMinDelta")) {
      throw UserError(message(hasMonitor ? "monitor" : "earlyStoppingMinDelta",
                              " is set, but neither earlyStoppingPatience nor restoreBestWeights: set one of them"));
    }
    return spec;
  }
  checkMonitor(monitor, heads, validates);
  spec.monitor = monitor;
  return spec;
}

void StoppingSpec::write(Json& training) const {
  if (!on()) return;
  if (patience) training["earlyStoppingPatience"] = *patience;
  training["earlyStoppingMinDelta"] = minDelta;
  training["monitor"] = monitor;
  training["restoreBestWeights"] = restoresBest;
}

EarlyStopping::EarlyStopping(const StoppingSpec& spec, const std::vector<Head>& heads, size_t numFloats)
    : spec_(spec), best_(spec.restoresBest ? numFloats : 0) {
  std::vector<Monitored> monitored = monitoredOf(heads);
  for (size_t i = 0; i < monitored.size(); ++i) {
    if (monitored[i].name != withoutPrefix(spec.monitor)) continue;
    metric_ = i;
    largerIsBetter_ = monitored[i].largerIsBetter;
  }
}

// What is not finite is never better.
bool EarlyStopping::epochEnded(int64_t epoch, const Measures& training, const std::optional<Measures>& validation) {
  if (!spec_.on()) return false;
  check(!spec_.onValidation() || validation.has_value(), "No validation to watch: ", spec_.monitor);
  const Measures& measures = spec_.onValidation() ? *validation : training;
  double value = metric_ ? measures.metrics[*metric_] : measures.loss;
  double gain = !bestValue_ ? 0 : largerIsBetter_ ? value - *bestValue_ : *bestValue_ - value;
  if (std::isfinite(value) && (!bestValue_ || gain > spec_.minDelta)) {
    bestValue_ = value;
    bestEpoch_ = epoch;
    return spec_.restoresBest;
  }
  if (spec_.patience && epoch - bestEpoch_ >= *spec_.patience) {
    reason_ = message(spec_.monitor, " did not get better for ", *spec_.patience, " epochs");
    if (bestValue_) reason_ += message(", it was best, ", *bestValue_, ", in epoch ", bestEpoch_);
  }
  return false;
}

void EarlyStopping::keep(std::span<const float> parameters) {
  std::copy(parameters.begin(), parameters.end(), best_.all().begin());
}

void EarlyStopping::restoreBest(std::span<float> parameters) const {
  if (!spec_.restoresBest || !bestValue_) return;
  std::copy_n(best_.all().begin(), parameters.size(), parameters.begin());
}

Json EarlyStopping::counters() const {
  Json json = {{"bestEpoch", bestEpoch_}, {"reason", reason_}};
  if (bestValue_) json["best"] = *bestValue_;
  return json;
}

void EarlyStopping::restore(const Json& counters) {
  JsonReader reader(counters, "state of early stopping");
  bestEpoch_ = reader.integer("bestEpoch");
  reason_ = reader.text("reason");
  bestValue_.reset();
  if (reader.has("best")) bestValue_ = reader.number("best");
  reader.finish();
}

}  // namespace bloomery::train
