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

StepHeader headerOf(const data::Batch* batch) {
  return batch == nullptr ? StepHeader{} : StepHeader{batch->numRows, batch->weightSum};
}

nn::BatchInput inputOf(const data::Batch& batch, int64_t epoch) {
  return {batch.features.all().data(), {batch.rowIds.data(), static_cast<size_t>(batch.numRows)}, batch.numRows, epoch};
}

std::span<const int32_t> labelsOf(const data::Batch& batch) {
  return {batch.labels.data(), static_cast<size_t>(batch.numRows)};
}

std::span<const float> weightsOf(const data::Batch& batch) {
  return {batch.weights.data(), static_cast<size_t>(batch.numRows)};
}

void add(nn::LossSums& sum, const nn::LossSums& part) {
  sum.loss += part.loss;
  sum.weight += part.weight;
  sum.correct += part.correct;
  sum.rows += part.rows;
}

Measures measuresOf(const nn::LossSums& sums) {
  return {sums.weight > 0 ? sums.loss / sums.weight : 0.0,
          sums.rows > 0 ? static_cast<double>(sums.correct) / static_cast<double>(sums.rows) : 0.0};
}

size_t gradientFloats(const TaskSpec& task) {
  return task.graph.parameters().layout().numFloats() + StepTail::kNumFloats;
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
      tail_(gradients_.all().last(StepTail::kNumFloats)),
      plan_(nn::makeDnnlPlan(context_.task.graph, context_.parameters, &gradients_,
                             {batchSize_, true, context_.task.training.seed})),
      passes_(context_.task.training.backwardPassesPerStep),
      accumulated_(passes_ > 1 ? context_.parameters.all().size() : 0),
      updater_(context_.task.training.updates, context_.task.graph.parameters().layout(), {}),
      comm_(context_.communicator, timeout_, context_.trace),
      batches_(context_.trainingRows, context_.task.graph.input().scale, batchSize_, kPrefetchDepth,
               context_.cancellation, context_.trace),
      validationBatches_(context_.validationRows, context_.task.graph.input().scale, batchSize_, kPrefetchDepth,
                         context_.cancellation, context_.trace) {}

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
  nn::LossSums totals;
  int64_t steps = 0;
  batches_.startEpoch(rowsOf(epoch));
  for (StepHeader header = exchangeHeader(batches_.peek()); header.rows > 0; header = tail_.next()) {
    context_.cancellation.throwIfCancelled();
    nn::LossSums sums = earlierPasses(epoch);
    data::Batch* batch = batches_.peek();
    add(sums, computeGradients(batch, passes_ > 1 ? 1.0 : header.weight, epoch));
    if (passes_ > 1) optim::addTo(simdLevel(), gradients_.all().first(accumulated_.all().size()), accumulated_.all());
    tail_.write(sums, headerOf(batch == nullptr ? nullptr : batches_.peekSecond()));
    comm_.submit(gradients_.all());
    if (batch != nullptr) batches_.pop();
    comm_.wait();
    ++steps;
    sums = tail_.sums();
    if (!std::isfinite(sums.loss)) {
      throw UserError(message("Loss is not finite: ", sums.loss, ", epoch ", epoch, ", step ", steps,
                              ", lower the learning rate or look for NaN in column '", context_.task.columns.features,
                              "'"));
    }
    if (sums.weight > 0) sums.loss += sums.weight * updateParameters(passes_ > 1 ? 1 / sums.weight : 1.0);
    add(totals, sums);
    context_.progress.stepDone(epoch, steps, totals.rows, measuresOf(totals), secondsSince(start));
  }
  double trainSeconds = secondsSince(start);
  check(context_.stepRows != nullptr || totals.rows == totalRows_, "Epoch did not use every row once: used ",
        totals.rows, ", rows: ", totalRows_);
  checkEqualParameters(epoch);
  auto times = batches_.takeTimes();
  Measures training = measuresOf(totals);
  std::optional<Measures> validation = evaluate();
  updater_.epochEnded({training.loss, validation ? std::optional(validation->loss) : std::nullopt});
  context_.progress.epochDone({.epoch = epoch,
                               .training = training,
                               .validation = validation,
                               .learningRate = learningRate_,
                               .samples = totals.rows,
                               .steps = steps,
                               .seconds = trainSeconds,
                               .waitSeconds = times.waitSeconds,
                               .assembleSeconds = times.assembleSeconds,
                               .computeSeconds = std::exchange(computeSeconds_, 0.0),
                               .allreduceSeconds = comm_.takeSeconds()});
}

StepHeader TrainingLoop::exchangeHeader(const data::Batch* batch) {
  StepHeader mine = headerOf(batch);
  double sums[] = {static_cast<double>(mine.rows), mine.weight};
  context_.communicator.allreduce(sums, timeout_);
  return {static_cast<int64_t>(sums[0]), sums[1]};
}

// All batches of a step but its last: their gradients wait, not divided yet, for those of the last.
nn::LossSums TrainingLoop::earlierPasses(int64_t epoch) {
  nn::LossSums sums;
  accumulated_.clear();
  for (int64_t pass = 1; pass < passes_ && batches_.peek() != nullptr && batches_.peekSecond() != nullptr; ++pass) {
    add(sums, computeGradients(batches_.peek(), 1.0, epoch));
    optim::addTo(simdLevel(), accumulated_.all(), gradients_.all().first(accumulated_.all().size()));
    batches_.pop();
  }
  return sums;
}

nn::LossSums TrainingLoop::computeGradients(const data::Batch* batch, double weightSum, int64_t epoch) {
  TraceScope scope(context_.trace, "compute", "compute", &computeSeconds_);
  if (batch == nullptr) {
    gradients_.clear();
    return {};
  }
  plan_->forward(inputOf(*batch, epoch), nn::Mode::kTraining);
  nn::LossSums sums =
      nn::softmaxCrossEntropy(plan_->logits(), labelsOf(*batch), weightsOf(*batch), weightSum, plan_->logitGradients());
  if (weightSum > 0) {
    NoGradientSink sink;
    plan_->backward(sink);
  }
  return sums;
}

// Returns the regularisation loss.
double TrainingLoop::updateParameters(double gradientScale) {
  TraceScope scope(context_.trace, "update", "compute", &computeSeconds_);
  std::span<float> parameters = context_.parameters.all();
  learningRate_ = updater_.learningRate(stepsPerEpoch_);
  return updater_.step(parameters, gradients_.all().first(parameters.size()), stepsPerEpoch_, gradientScale);
}

// Ranks go through their validation rows side by side, so that a rank with few of them never waits past its deadline.
std::optional<Measures> TrainingLoop::evaluate() {
  if (totalValidationRows_ == 0) return std::nullopt;
  const data::RowStore& rows = context_.validationRows;
  validationBatches_.startEpoch(
      std::make_unique<data::OrderedRows>(data::Order(rows.numRows(), rows.rowsPerBlock(), 0, 0, false), batchSize_));
  updater_.swapAverages(context_.parameters.all());
  nn::LossSums totals;
  double waiting = 1;
  while (waiting > 0) {
    context_.cancellation.throwIfCancelled();
    if (data::Batch* batch = validationBatches_.peek()) {
      plan_->forward(inputOf(*batch, 0), nn::Mode::kInference);
      add(totals, nn::softmaxCrossEntropy(plan_->logits(), labelsOf(*batch), weightsOf(*batch), 1.0, {}));
      validationBatches_.pop();
    }
    waiting = validationBatches_.peek() == nullptr ? 0 : 1;
    context_.communicator.allreduce(std::span(&waiting, 1), timeout_);
  }
  double sums[] = {totals.loss, totals.weight, static_cast<double>(totals.correct), static_cast<double>(totals.rows)};
  context_.communicator.allreduce(sums, timeout_);
  validationBatches_.takeTimes();
  Measures measures = measuresOf({sums[0], sums[1], static_cast<int64_t>(sums[2]), static_cast<int64_t>(sums[3])});
  measures.loss += updater_.regularisationLoss(context_.parameters.all());
  updater_.swapAverages(context_.parameters.all());
  return measures;
}

void TrainingLoop::checkEqualParameters(int64_t epoch) {
  auto hashes = context_.communicator.allgather(hashOf(context_.parameters.all()), timeout_);
  for (size_t rank = 0; rank < hashes.size(); ++rank) {
    check(hashes[rank] == hashes[0], "Parameters differ between workers: rank ", rank, " and rank 0 after epoch ",
          epoch);
  }
}

}  // namespace bloomery::train
