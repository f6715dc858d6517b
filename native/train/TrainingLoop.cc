#include "train/TrainingLoop.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/Error.h"
#include "base/Random.h"
#include "optim/Gradients.h"

namespace bloomery::train {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

nn::BatchInput inputOf(const data::Batch& batch, int64_t epoch, double rowShare = 1) {
  return {batch.inputs, {batch.rowIds.data(), static_cast<size_t>(batch.numRows)}, batch.numRows, epoch, rowShare};
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
      reducer_(context_.communicator, timeout_),
      plan_(nn::makeDnnlPlan(context_.task.graph, context_.parameters, &gradients_,
                             {batchSize_, true, context_.task.training.seed,
                              context_.profile == nullptr ? nullptr : &context_.profile->plan, &reducer_})),
      objective_(context_.task.training.heads, batchSize_),
      passes_(context_.task.training.backwardPassesPerStep),
      accumulated_(passes_ > 1 ? context_.parameters.all().size() : 0),
      updater_(context_.task.training.updates, context_.task.graph.parameters().layout(),
               optim::rulesOf(context_.task.graph.parameters())),
      comm_(context_.communicator, timeout_, context_.trace),
      batches_(context_.trainingRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace,
               classWeightsOf(context_.task)),
      validationBatches_(context_.validationRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace),
      header_(objective_.numOutputs()),
      next_(objective_.numOutputs()),
      sums_(objective_.numOutputs()),
      totals_(objective_.numOutputs()),
      metricSums_(objective_.numMetricSums()),
      own_(objective_.numOutputs()),
      ones_(objective_.numOutputs(), 1.0),
      noInputs_(context_.task.graph.inputs().size(), nullptr),
      warnedOf_(objective_.numOutputs(), false) {
  if (context_.profile != nullptr && context_.profile->tracesLayers) context_.profile->plan.trace = &context_.trace;
  ArenaLayout layout = context_.task.graph.parameters().layout();
  const auto& parameters = context_.task.graph.parameters().parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].runningMomentum) continue;
    const Slice& slice = layout.slices()[i];
    statistics_.push_back({slice.offset, slice.size, static_cast<float>(*parameters[i].runningMomentum)});
  }
}

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
  if (totalValidationRows_ == 0 &&
      optim::watchesValidation(optim::scheduleOf(context_.task.training.updates.optimizer))) {
    throw UserError(message("Schedule reduce_on_plateau watches validation_loss, but column '",
                            context_.task.columns.validation,
                            "' marks no row as validation: mark some, or set monitor to \"loss\""));
  }
  int64_t rowsOfStep = batchSize_ * passes_;
  int64_t mySteps = (context_.trainingRows.numRows() + rowsOfStep - 1) / rowsOfStep;
  auto steps = context_.communicator.allgather(static_cast<uint64_t>(mySteps), timeout_);
  stepsPerEpoch_ = static_cast<int64_t>(*std::max_element(steps.begin(), steps.end()));
  context_.progress.stepsPerEpoch(stepsPerEpoch_);
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
  updater_.swapAverages(context_.parameters.all());
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
  penalties_ = 0;
  for (exchangeHeader(); header_.rows > 0; std::swap(header_, next_)) {
    context_.cancellation.throwIfCancelled();
    sums_.clear();
    if (passes_ > 1) earlierPasses(epoch);
    data::Batch* batch = batches_.peek();
    computeGradients(batch, epoch);
    if (passes_ > 1) optim::addTo(simdLevel(), gradients_.all().first(accumulated_.all().size()), accumulated_.all());
    describe(batch == nullptr ? nullptr : batches_.peekSecond(), next_);
    tail_.write(sums_, next_);
    comm_.submit(gradients_.all());
    if (batch != nullptr) batches_.pop();
    waitForReduction();
    ++steps;
    tail_.read(sums_, next_);
    checkFinite(epoch, steps);
    updateParameters();
    totals_ += sums_;
    objective_.measure(totals_.losses, totals_.weights, metricSums_, soFar_);
    addPenalty(soFar_);
    context_.progress.stepDone(epoch, steps, totals_.rows, soFar_, secondsSince(start));
  }
  double trainSeconds = secondsSince(start);
  check(context_.stepRows != nullptr || totals_.rows == totalRows_, "Epoch did not use every row once: used ",
        totals_.rows, ", rows: ", totalRows_);
  checkEqualParameters(epoch);
  auto times = batches_.takeTimes();
  Measures training = measured(totals_, metricSums_);
  addPenalty(training);
  warnOfConstantOutputs(metricSums_, "training", epoch);
  std::optional<Measures> validation = evaluate(epoch);
  updater_.epochEnded({training.loss, validation ? std::optional(validation->loss) : std::nullopt});
  EpochRecord record{.epoch = epoch,
                     .training = training,
                     .validation = validation,
                     .learningRate = learningRate_,
                     .samples = totals_.rows,
                     .steps = steps,
                     .seconds = trainSeconds,
                     .waitSeconds = times.waitSeconds,
                     .assembleSeconds = times.assembleSeconds,
                     .computeSeconds = gradientSeconds_ + updateSeconds_,
                     .allreduceSeconds = comm_.takeSeconds()};
  addToProfile(record);
  gradientSeconds_ = lossSeconds_ = updateSeconds_ = reductionSeconds_ = 0;
  context_.progress.epochDone(std::move(record));
}

void TrainingLoop::waitForReduction() {
  TraceScope scope(context_.trace, "wait for allreduce", "compute", &reductionSeconds_);
  comm_.wait();
}

void TrainingLoop::addToProfile(const EpochRecord& epoch) {
  if (context_.profile == nullptr) return;
  StepProfile& profile = *context_.profile;
  profile.steps += epoch.steps;
  profile.lossSeconds += lossSeconds_;
  profile.updateSeconds += updateSeconds_;
  profile.allreduceSeconds += reductionSeconds_;
  profile.waitSeconds += epoch.waitSeconds;
  profile.seconds += epoch.seconds;
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

void TrainingLoop::earlierPasses(int64_t epoch) {
  accumulated_.clear();
  for (int64_t pass = 1; pass < passes_ && batches_.peek() != nullptr && batches_.peekSecond() != nullptr; ++pass) {
    computeGradients(batches_.peek(), epoch);
    optim::addTo(simdLevel(), accumulated_.all(), gradients_.all().first(accumulated_.all().size()));
    batches_.pop();
  }
}

void TrainingLoop::computeGradients(const data::Batch* batch, int64_t epoch) {
  TraceScope scope(context_.trace, "compute", "compute", &gradientSeconds_);
  if (batch == nullptr) return takePartWithoutRows(epoch);
  bool divides = passes_ == 1;  // else the update does
  double rows = static_cast<double>(batch->numRows);
  plan_->forward(inputOf(*batch, epoch, divides ? rows / static_cast<double>(header_.rows) : rows),
                 nn::Mode::kTraining);
  {
    TraceScope loss(context_.trace, "loss", "compute", &lossSeconds_);
    objective_.compute(*plan_, *batch, divides ? header_.weights : ones_, own_.losses, metricSums_);
  }
  own_.rows = batch->numRows;
  for (size_t i = 0; i < own_.weights.size(); ++i) own_.weights[i] = batch->targets[i].weightSum;
  sums_ += own_;
  if (!divides || header_.hasWeight()) {
    NoGradientSink sink;
    plan_->backward(sink);
  }
}

// The others' statistics wait for everybody.
void TrainingLoop::takePartWithoutRows(int64_t epoch) {
  gradients_.clear();
  if (!context_.task.graph.synchronizesStatistics()) return;
  plan_->forward({noInputs_, {}, 0, epoch, 0.0}, nn::Mode::kTraining);
  for (size_t i = 0; i < objective_.numOutputs(); ++i) {
    std::span<float> gradients = plan_->logitGradients(i).span();
    std::fill(gradients.begin(), gradients.end(), 0.0f);
  }
  NoGradientSink sink;
  if (header_.hasWeight()) plan_->backward(sink);
}

void TrainingLoop::checkFinite(int64_t epoch, int64_t step) const {
  for (size_t i = 0; i < sums_.losses.size(); ++i) {
    if (std::isfinite(sums_.losses[i])) continue;
    std::string columns, output;
    for (const std::string& name : context_.task.columns.featureNames())
      columns += (columns.empty() ? "'" : ", '") + name + "'";
    if (sums_.losses.size() > 1) output = message(", output '", context_.task.training.heads[i].output.name, "'");
    throw UserError(message("Loss is not finite: ", sums_.losses[i], output, ", epoch ", epoch, ", step ", step,
                            ", lower the learning rate or look for NaN in column ", columns));
  }
}

void TrainingLoop::updateParameters() {
  TraceScope scope(context_.trace, "update", "compute", &updateSeconds_);
  double weight = *std::max_element(sums_.weights.begin(), sums_.weights.end());
  if (weight <= 0) return;
  followStatistics();
  std::span<float> parameters = context_.parameters.all();
  learningRate_ = updater_.learningRate(stepsPerEpoch_);
  double penalty = updater_.step(parameters, gradients_.all().first(parameters.size()), stepsPerEpoch_,
                                 passes_ > 1 ? 1 / weight : 1.0);
  penalties_ += penalty * static_cast<double>(sums_.rows);
}

// Running statistics came through the reduction in place of gradients, weighted by rows.
void TrainingLoop::followStatistics() {
  float scale = passes_ > 1 ? 1.0f / static_cast<float>(sums_.rows) : 1.0f;
  for (const Statistic& statistic : statistics_) {
    float* values = context_.parameters.all().data() + statistic.first;
    const float* news = gradients_.all().data() + statistic.first;
    for (size_t i = 0; i < statistic.size; ++i) {
      values[i] = statistic.momentum * values[i] + (1 - statistic.momentum) * news[i] * scale;
    }
  }
}

void TrainingLoop::addPenalty(Measures& measures) const {
  if (totals_.rows > 0) measures.loss += penalties_ / static_cast<double>(totals_.rows);
}

// Losses are summed over all workers already, metrics are here.
Measures TrainingLoop::measured(const StepSums& sums, std::span<double> metricSums) {
  if (!metricSums.empty()) context_.communicator.allreduce(metricSums, timeout_);
  Measures measures;
  objective_.measure(sums.losses, sums.weights, metricSums, measures);
  return measures;
}

// Ranks go through their validation rows side by side, so that a rank with few of them never waits past its deadline.
std::optional<Measures> TrainingLoop::evaluate(int64_t epoch) {
  if (totalValidationRows_ == 0) return std::nullopt;
  const data::RowStore& rows = context_.validationRows;
  validationBatches_.startEpoch(
      std::make_unique<data::OrderedRows>(data::Order(rows.numRows(), rows.rowsPerBlock(), 0, 0, false), batchSize_));
  updater_.swapAverages(context_.parameters.all());
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
  Measures measures = measured(totals, metricSums);
  warnOfConstantOutputs(metricSums, "validation", epoch);
  measures.loss += updater_.regularisationLoss(context_.parameters.all());
  updater_.swapAverages(context_.parameters.all());
  return measures;
}

void TrainingLoop::warnOfConstantOutputs(std::span<const double> metricSums, const char* rows, int64_t epoch) {
  if (context_.log == nullptr || context_.communicator.rank() != 0) return;
  for (size_t i = 0; i < warnedOf_.size(); ++i) {
    if (warnedOf_[i] || !objective_.isConstant(i, metricSums)) continue;
    warnedOf_[i] = true;
    context_.log->line(
        message("Output is the same for every row of a batch: layer '", context_.task.training.heads[i].output.name,
                "', all ", rows, " rows of epoch ", epoch,
                ". Perhaps no unit of a ReLU before it is active any more: lower the learning rate, take "
                "leaky_relu, or end in a linear layer"));
  }
}

void TrainingLoop::checkEqualParameters(int64_t epoch) {
  auto hashes = context_.communicator.allgather(hashOf(context_.parameters.all()), timeout_);
  for (size_t rank = 0; rank < hashes.size(); ++rank) {
    check(hashes[rank] == hashes[0], "Parameters differ between workers: rank ", rank, " and rank 0 after epoch ",
          epoch);
  }
}

}  // namespace bloomery::train
