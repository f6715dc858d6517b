#include "train/Progress.h"

#include <utility>

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::train {

namespace {

const char* nameOf(State state) {
  static constexpr const char* kNames[] = {"connecting", "loading", "training", "finished"};
  return kNames[static_cast<size_t>(state)];
}

Json metricsOf(const Measures& measures, const std::vector<std::string>& names) {
  Json json = Json::object();
  for (size_t i = 0; i < names.size(); ++i) json[names[i]] = measures.metrics[i];
  return json;
}

Json toJson(const EpochRecord& record, const std::vector<std::string>& names) {
  Json json = {{"epoch", record.epoch}, {"loss", record.training.loss}, {"metrics", metricsOf(record.training, names)}};
  if (record.validation) {
    json["validation"] = {{"loss", record.validation->loss}, {"metrics", metricsOf(*record.validation, names)}};
  }
  json["learningRate"] = record.learningRate;
  json["samples"] = record.samples;
  json["steps"] = record.steps;
  json["seconds"] = record.seconds;
  json["samplesPerSecond"] = record.seconds > 0 ? static_cast<double>(record.samples) / record.seconds : 0.0;
  json["validationSeconds"] = record.validationSeconds;
  json["rows"] = record.rows;
  json["bytes"] = record.bytes;
  json["rowsAtStart"] = record.rowsAtStart;
  json["readSeconds"] = record.readSeconds;
  json["convertSeconds"] = record.convertSeconds;
  json["waitSeconds"] = record.waitSeconds;
  json["assembleSeconds"] = record.assembleSeconds;
  json["computeSeconds"] = record.computeSeconds;
  json["allreduceSeconds"] = record.allreduceSeconds;
  json["exposedAllreduceSeconds"] = record.exposedAllreduceSeconds;
  json["hiddenAllreduceSeconds"] = record.hiddenAllreduceSeconds;
  json["bytesSent"] = record.bytesSent;
  json["reducedAgain"] = record.reducedAgain;
  if (!record.stops.empty()) json["stops"] = record.stops;
  return json;
}

Json toJson(const TraceSpan& span) {
  return {{"name", span.title()},
          {"thread", span.thread},
          {"startMicros", span.startMicros},
          {"durationMicros", span.durationMicros}};
}

}  // namespace

void Progress::changed(std::unique_lock<std::mutex>& lock) {
  hasNews_ = true;
  lock.unlock();
  news_.notify_all();
}

void Progress::enter(State state) {
  std::unique_lock lock(mutex_);
  state_ = state;
  changed(lock);
}

void Progress::awaitTraining(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, wait, [&] { return state_ >= State::kTraining || failure_ != nullptr; });
}

void Progress::rowsLoaded(int64_t rows, double readSeconds, double convertSeconds) {
  std::lock_guard lock(mutex_);
  rows_ = rows;
  readSeconds_ += readSeconds;
  convertSeconds_ += convertSeconds;
}

void Progress::stepsPerEpoch(int64_t steps) {
  std::lock_guard lock(mutex_);
  steps_ = steps;
}

void Progress::stepDone(int64_t epoch, int64_t step, int64_t samples, const Measures& soFar, double epochSeconds,
                        const OwnTime& own) {
  std::lock_guard lock(mutex_);
  epoch_ = epoch;
  step_ = step;
  samples_ = samples;
  measures_ = soFar;
  epochSeconds_ = epochSeconds;
  own_ = own;
}

std::string Progress::place() {
  std::lock_guard lock(mutex_);
  return step_ == 0 ? "" : message("after step ", step_, " of epoch ", epoch_);
}

void Progress::epochDone(EpochRecord record) {
  std::unique_lock lock(mutex_);
  record.readSeconds += std::exchange(readSeconds_, 0.0);
  record.convertSeconds += std::exchange(convertSeconds_, 0.0);
  history_.push_back(toJson(record, metricNames_).dump());
  changed(lock);
}

std::vector<std::string> Progress::history() {
  std::lock_guard lock(mutex_);
  return history_;
}

void Progress::restoreHistory(std::vector<std::string> epochs) {
  std::lock_guard lock(mutex_);
  history_ = std::move(epochs);
}

void Progress::ask() {
  std::unique_lock lock(mutex_);
  asks_ = true;
  changed(lock);
}

void Progress::answer(bool stop) {
  std::unique_lock lock(mutex_);
  asks_ = false;
  stopAnswered_ = stop;
  lock.unlock();
  news_.notify_all();
}

std::optional<bool> Progress::answerWithin(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  if (!news_.wait_for(lock, wait, [&] { return !asks_; })) return std::nullopt;
  return stopAnswered_;
}

void Progress::fail(std::exception_ptr failure) {
  std::unique_lock lock(mutex_);
  if (failure_ == nullptr) failure_ = failure;
  changed(lock);
}

void Progress::rethrowFailure() {
  std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

Json Progress::poll(std::chrono::milliseconds wait, Log& log, Trace& trace) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, wait, [&] { return hasNews_ || failure_ != nullptr || state_ == State::kFinished; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  hasNews_ = false;
  Json history = Json::array(), spans = Json::array();
  for (; numTold_ < history_.size(); ++numTold_) history.push_back(Json::parse(history_[numTold_]));
  if (!keepsHistory_) {
    history_.clear();
    numTold_ = 0;
  }
  for (const TraceSpan& span : trace.drain()) spans.push_back(toJson(span));
  return {{"state", nameOf(state_)},
          {"rows", rows_},
          {"epoch", epoch_},
          {"epochs", epochs_},
          {"step", step_},
          {"steps", steps_},
          {"loss", measures_.loss},
          {"metrics", metricsOf(measures_, metricNames_)},
          {"samplesPerSecond", epochSeconds_ > 0 ? static_cast<double>(samples_) / epochSeconds_ : 0.0},
          {"samples", samples_},
          {"ownSeconds", own_.seconds},
          {"ownSteps", own_.steps},
          {"history", history},
          {"asks", asks_},
          {"log", log.drain()},
          {"trace", spans},
          {"traceOriginMicros", trace.originMicros()}};
}

}  // namespace bloomery::train
