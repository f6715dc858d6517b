#include "train/TrainingLoop.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/Error.h"
#include "base/Random.h"

namespace bloomery::train {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

nn::BatchInput inputOf(const data::Batch& batch, int64_t epoch) {
  return {batch.inputs, {batch.rowIds.data(), static_cast<size_t>(batch.numRows)}, batch.numRows, epoch};
}

size_t tailFloats(const TaskSpec& task) { return StepTail::numFloats(task.training.heads.size()); }

size_t gradientFloats(const TaskSpec& task) { return task.graph.parameters().layout().numFloats() + tailFloats(task); }

data::ClassWeights classWeightsOf(const TaskSpec& task) {
  data::ClassWeights weights;
  for (const Head& head : task.training.heads) weights.push_back(head.classWeights);
  return weights;
}

uint64_t hashOf(std::span<const float> values) {
  uint64_t hash = values.size();
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    uint64_t word;
    std::memcpy(&word, &values[i], sizeof(word));
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopContext context)
    : context_(std::move(context)),
      timeout_(static_cast<int64_t>(context_.task.worker.stepTimeout * 1000)),
      batchSize_(context_.task.training.batchSizeOf(context_.task.worker.rank, context_.task.worker.size)),
      gradients_(gradientFloats(context_.task)),
      tail_(gradients_.all().last(tailFloats(context_.task))),
      plan_(nn::makeDnnlPlan(context_.task.graph, context_.parameters, &gradients_,
                             {batchSize_, true, context_.task.training.seed})),
      objective_(context_.task.training.heads, batchSize_),
      optimizer_(optim::makeOptimizer(context_.task.training.optimizer, context_.parameters.all().size())),
      comm_(context_.communicator, timeout_, context_.trace),
      batches_(context_.trainingRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace,
               classWeightsOf(context_.task)),
      validationBatches_(context_.validationRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace),
      header_(objective_.numOutputs()),
      next_(objective_.numOutputs()),
      sums_(objective_.numOutputs()),
      totals_(objective_.numOutputs()),
      metricSums_(objective_.numMetricSums()) {}

void TrainingLoop::awaitRows(const std::function<bool()>& waitForRows) {
  context_.progress.enter(State::kLoading);
  float ready = 0;
  do {
    context_.cancellation.throwIfCancelled();
    ready = waitForRows() ? 1.0f : 0.0f;
    context_.communicator.allreduce(std::span(&ready, 1), timeout_);
  } while (ready < static_cast<float>(context_.communicator.size()));
  totalRows_ = sumOverWorkers(context_.trainingRows.numRows());
  totalValidationRows_ = sumOverWorkers(context_.validationRows.numRows());
  if (totalRows_ == 0) {
    throw UserError(totalValidationRows_ == 0
                        ? "No rows to train on: the DataFrame is empty"
                        : message("No rows to train on: all ", totalValidationRows_,
                                  " rows are for validation, column '", context_.task.columns.validation, "'"));
  }
  int64_t mySteps = (context_.trainingRows.numRows() + batchSize_ - 1) / batchSize_;
  auto steps = context_.communicator.allgather(static_cast<uint64_t>(mySteps), timeout_);
  context_.progress.stepsPerEpoch(static_cast<int64_t>(*std::max_element(steps.begin(), steps.end())));
}

int64_t TrainingLoop::sumOverWorkers(int64_t value) {
  int64_t sum = 0;
  for (uint64_t part : context_.communicator.allgather(static_cast<uint64_t>(value), timeout_)) {
    sum += static_cast<int64_t>(part);
  }
  return sum;
}

void TrainingLoop::run() {
  context_.progress.enter(State::kTraining);
  checkEqualParameters(0);
  for (int64_t epoch = 1; epoch <= context_.task.training.epochs; ++epoch) trainEpoch(epoch);
}

std::unique_ptr<data::StepRows> TrainingLoop::rowsOf(int64_t epoch) const {
  if (context_.stepRows) return context_.stepRows(epoch);
  const data::RowStore& rows = context_.trainingRows;
  data::Order order(rows.numRows(), rows.rowsPerBlock(), context_.task.training.seed, epoch,
                    context_.task.training.shuffle);
  return std::make_unique<data::OrderedRows>(order, batchSize_);
}

void TrainingLoop::trainEpoch(int64_t epoch) {
  auto start = Clock::now();
  int64_t steps = 0;
  totals_.clear();
  std::fill(metricSums_.begin(), metricSums_.end(), 0.0);
  batches_.startEpoch(rowsOf(epoch));
  for (exchangeHeader(); header_.rows > 0; std::swap(header_, next_)) {
    context_.cancellation.throwIfCancelled();
    data::Batch* batch = batches_.peek();
    computeGradients(batch, epoch);
    describe(batch == nullptr ? nullptr : batches_.peekSecond(), next_);
    tail_.write(sums_, next_);
    comm_.submit(gradients_.all());
    if (batch != nullptr) batches_.pop();
    comm_.wait();
    ++steps;
    tail_.read(sums_, next_);
    checkFinite(epoch, steps);
    if (header_.hasWeight()) updateParameters();
    totals_ += sums_;
    objective_.measure(totals_.losses, totals_.weights, metricSums_, soFar_);
    context_.progress.stepDone(epoch, steps, totals_.rows, soFar_, secondsSince(start));
  }
  double trainSeconds = secondsSince(start);
  check(context_.stepRows != nullptr || totals_.rows == totalRows_, "Epoch did not use every row once: used ",
        totals_.rows, ", rows: ", totalRows_);
  checkEqualParameters(epoch);
  auto times = batches_.takeTimes();
  context_.progress.epochDone({.epoch = epoch,
                               .training = measured(totals_, metricSums_),
                               .validation = evaluate(),
                               .learningRate = optim::learningRateOf(context_.task.training.optimizer),
                               .samples = totals_.rows,
                               .steps = steps,
                               .seconds = trainSeconds,
                               .waitSeconds = times.waitSeconds,
                               .assembleSeconds = times.assembleSeconds,
                               .computeSeconds = std::exchange(computeSeconds_, 0.0),
                               .allreduceSeconds = comm_.takeSeconds()});
}

void TrainingLoop::describe(const data::Batch* batch, StepHeader& header) const {
  header.rows = batch == nullptr ? 0 : batch->numRows;
  for (size_t i = 0; i < header.weights.size(); ++i) {
    header.weights[i] = batch == nullptr ? 0.0 : batch->targets[i].weightSum;
  }
}

// Before an epoch's first step, which no step announced.
void TrainingLoop::exchangeHeader() {
  describe(batches_.peek(), header_);
  std::vector<double> sums = header_.weights;
  sums.push_back(static_cast<double>(header_.rows));
  context_.communicator.allreduce(sums, timeout_);
  header_.rows = static_cast<int64_t>(sums.back());
  sums.pop_back();
  header_.weights = std::move(sums);
}

void TrainingLoop::computeGradients(const data::Batch* batch, int64_t epoch) {
  TraceScope scope(context_.trace, "compute", "compute", &computeSeconds_);
  sums_.clear();
  if (batch == nullptr) return gradients_.clear();
  plan_->forward(inputOf(*batch, epoch), nn::Mode::kTraining);
  objective_.compute(*plan_, *batch, header_.weights, sums_.losses, metricSums_);
  sums_.rows = batch->numRows;
  for (size_t i = 0; i < sums_.weights.size(); ++i) sums_.weights[i] = batch->targets[i].weightSum;
  if (header_.hasWeight()) {
    NoGradientSink sink;
    plan_->backward(sink);
  }
}

void TrainingLoop::checkFinite(int64_t epoch, int64_t step) const {
  for (size_t i = 0; i < sums_.losses.size(); ++i) {
    if (std::isfinite(sums_.losses[i])) continue;
    std::string columns, output;
    for (const std::string& name : context_.task.columns.features)
      columns += (columns.empty() ? "'" : ", '") + name + "'";
    if (sums_.losses.size() > 1) output = message(", output '", context_.task.training.heads[i].output.name, "'");
    throw UserError(message("Loss is not finite: ", sums_.losses[i], output, ", epoch ", epoch, ", step ", step,
                            ", lower the learning rate or look for NaN in column ", columns));
  }
}

void TrainingLoop::updateParameters() {
  TraceScope scope(context_.trace, "update", "compute", &computeSeconds_);
  optimizer_->beginStep(optim::learningRateOf(context_.task.training.optimizer));
  optimizer_->update(0, context_.parameters.all(), gradients_.all().first(context_.parameters.all().size()));
}

// Losses are summed over all workers already, metrics are here.
Measures TrainingLoop::measured(const StepSums& sums, std::span<double> metricSums) {
  if (!metricSums.empty()) context_.communicator.allreduce(metricSums, timeout_);
  Measures measures;
  objective_.measure(sums.losses, sums.weights, metricSums, measures);
  return measures;
}

// Ranks go through their validation rows side by side, so that a rank with few of them never waits past its deadline.
std::optional<Measures> TrainingLoop::evaluate() {
  if (totalValidationRows_ == 0) return std::nullopt;
  const data::RowStore& rows = context_.validationRows;
  validationBatches_.startEpoch(
      std::make_unique<data::OrderedRows>(data::Order(rows.numRows(), rows.rowsPerBlock(), 0, 0, false), batchSize_));
  StepSums part(objective_.numOutputs()), totals(objective_.numOutputs());
  std::vector<double> metricSums(objective_.numMetricSums());
  double waiting = 1;
  while (waiting > 0) {
    context_.cancellation.throwIfCancelled();
    if (data::Batch* batch = validationBatches_.peek()) {
      plan_->forward(inputOf(*batch, 0), nn::Mode::kInference);
      objective_.compute(*plan_, *batch, {}, part.losses, metricSums);
      for (size_t i = 0; i < part.weights.size(); ++i) part.weights[i] = batch->targets[i].weightSum;
      totals += part;
      validationBatches_.pop();
    }
    waiting = validationBatches_.peek() == nullptr ? 0 : 1;
    context_.communicator.allreduce(std::span(&waiting, 1), timeout_);
  }
  context_.communicator.allreduce(totals.losses, timeout_);
  context_.communicator.allreduce(totals.weights, timeout_);
  validationBatches_.takeTimes();
  return measured(totals, metricSums);
}

void TrainingLoop::checkEqualParameters(int64_t epoch) {
  auto hashes = context_.communicator.allgather(hashOf(context_.parameters.all()), timeout_);
  for (size_t rank = 0; rank < hashes.size(); ++rank) {
    check(hashes[rank] == hashes[0], "Parameters differ between workers: rank ", rank, " and rank 0 after epoch ",
          epoch);
  }
}

}  // namespace bloomery::train
