#include "train/TrainingLoop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/Error.h"
#include "base/Random.h"
#include "train/ConsistencyGuard.h"
#include "train/InputStatistics.h"
#include "train/LateColumns.h"
#include "train/SparseSlices.h"

namespace bloomery::train {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

nn::BatchInput inputOf(const data::Batch& batch, int64_t epoch, double rowShare = 1) {
  return {batch.inputs, {batch.rowIds.data(), static_cast<size_t>(batch.numRows)}, batch.numRows, epoch, rowShare};
}

// The longest between two signs of life of a worker that waits for rows.
constexpr comm::Timeout kSignOfLife{50};

// Sums of weights other than 1 may round differently in an allreduce of another length.
bool hasWeights(const TaskSpec& task) {
  bool weighsClasses = std::any_of(task.training.heads.begin(), task.training.heads.end(),
                                   [](const Head& head) { return !head.classWeights.empty(); });
  return weighsClasses || !task.columns.weight.empty();
}

// What chooses the rows for validation.
std::string validationRule(const TaskSpec& task) {
  if (task.columns.validation.empty()) return message("validationFraction ", task.training.validationFraction);
  return message("column '", task.columns.validation, "'");
}

size_t tailFloats(const TaskSpec& task) { return StepTail::numFloats(task.training.heads.size()); }

// Gradients of several passes are divided by the rows after the reduction only. Running statistics are no gradients.
comm::WireSpec wireOf(const TaskSpec& task, int ranks) {
  bool divided = task.training.backwardPassesPerStep == 1;
  comm::WireSpec wire{task.training.gradientCompression,
                      divided ? task.training.globalBatchSizeOf(ranks) : 1.0,
                      {},
                      task.training.localSteps > 1};
  const auto& parameters = task.graph.parameters().parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].runningMomentum) wire.exactSlices.push_back(i);
  }
  return wire;
}

data::ClassWeights classWeightsOf(const TaskSpec& task) {
  data::ClassWeights weights;
  for (const Head& head : task.training.heads) weights.push_back(head.classWeights);
  return weights;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopContext context)
    : context_(std::move(context)),
      deadline_(context_.task.worker.stepTimeout),
      patience_(std::clamp(timeout() / 4, comm::Timeout(1), kSignOfLife)),
      made_(context_.plan != nullptr ? std::move(context_.plan)
                                     : std::make_unique<StepPlan>(context_.task, context_.parameters,
                                                                  context_.communicator.size(), context_.profile)),
      batchSize_(made_->batchSize),
      layout_(made_->layout),
      gradients_(made_->gradients),
      rows_(made_->rows),
      reducer_(made_->reducer),
      plan_(made_->plan.get()),
      tail_(gradients_.all().subspan(layout_.numFloats(), tailFloats(context_.task))),
      objective_(context_.task.training.heads, batchSize_),
      passes_(context_.task.training.backwardPassesPerStep),
      accumulated_(passes_ > 1, layout_, gradients_, rows_),
      local_(context_.task.training.localSteps, context_.task.graph.parameters()),
      updater_(context_.task.training.updates, layout_, optim::rulesOf(context_.task.graph.parameters()), simdLevel(),
               &rows_),
      comm_(context_.communicator, timeout(), context_.trace),
      bucketer_(comm_, gradients_.all(), layout_, sparseTables(context_.task, rows_, context_.communicator.size()),
                wireOf(context_.task, context_.communicator.size())),
      stopping_(context_.task.training.stopping, context_.task.training.heads, layout_.numFloats()),
      state_(context_.task, context_.checkpoints == nullptr ? "" : context_.checkpoints->settings, layout_,
             context_.parameters, updater_, stopping_, context_.progress, bucketer_.buckets()),
      checkpointer_(context_.task, context_.checkpoints, context_.communicator, deadline_, context_.cancellation,
                    context_.log),
      batches_(context_.trainingRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace,
               classWeightsOf(context_.task)),
      validationBatches_(context_.validationRows, batchSize_, kPrefetchDepth, context_.cancellation, context_.trace),
      streams_(!context_.stepRows && !whyRowsLoadFirst(context_.task)),
      headerRides_(true),
      headerSums_(objective_.numOutputs() + 2),
      header_(objective_.numOutputs()),
      next_(objective_.numOutputs()),
      sums_(objective_.numOutputs()),
      totals_(objective_.numOutputs()),
      metricSums_(objective_.numMetricSums()),
      ownHeader_(objective_.numOutputs()),
      brought_(objective_.numOutputs()),
      own_(objective_.numOutputs()),
      ones_(objective_.numOutputs(), 1.0),
      noInputs_(context_.task.graph.inputs().size(), nullptr),
      warnedOf_(objective_.numOutputs(), false),
      stepsPerEpoch_(knownStepsPerEpoch(context_.task).value_or(1)),
      resumed_(objective_.numOutputs(), objective_.numMetricSums()) {
  reducer_.join(context_.communicator, deadline_);
  if (context_.profile != nullptr && context_.profile->tracesLayers) context_.profile->plan.trace = &context_.trace;
  const auto& parameters = context_.task.graph.parameters().parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].runningMomentum) continue;
    const Slice& slice = layout_.slices()[i];
    statistics_.push_back({slice.offset, slice.size, static_cast<float>(*parameters[i].runningMomentum)});
  }
}

void TrainingLoop::awaitAllRows() {
  auto what = purpose("rows that still come");
  double missing = 0;
  do {
    context_.cancellation.throwIfCancelled();
    bool complete = context_.trainingRows.awaitAll(patience_) && context_.validationRows.awaitAll(patience_);
    missing = complete ? 0 : 1;
    context_.communicator.allreduce(std::span(&missing, 1), timeout());
  } while (missing > 0);
  auto settled = purpose("what all rows tell");
  settleColumns(context_.task.columns, context_.communicator, timeout());
  measureInputs(context_, timeout(), patience_);
  countRows();
}

void TrainingLoop::countRows() {
  auto what = purpose("row counts");
  auto sumOfRows = [&](int64_t rows) { return static_cast<int64_t>(sumOverWorkers(static_cast<uint64_t>(rows))); };
  totalRows_ = {sumOfRows(context_.trainingRows.numRows()), sumOfRows(context_.validationRows.numRows()),
                sumOverWorkers(TotalRows::contentsOf(context_.trainingRows, context_.validationRows))};
  if (totalRows_.training == 0) {
    throw UserError(totalRows_.validation == 0
                        ? "No rows to train on: the data is empty"
                        : message("No rows to train on: all ", totalRows_.validation, " rows are for validation by ",
                                  validationRule(context_.task)));
  }
  if (totalRows_.validation == 0 &&
      optim::watchesValidation(optim::scheduleOf(context_.task.training.updates.optimizer))) {
    throw UserError(message("Schedule reduce_on_plateau watches validation_loss, but no row is for validation by ",
                            validationRule(context_.task), ": choose some, or set monitor to \"loss\""));
  }
  if (totalRows_.validation == 0 && context_.task.training.stopping.onValidation()) {
    throw UserError(message("No row is for validation by ", validationRule(context_.task), ", which monitor ",
                            context_.task.training.stopping.monitor, " watches: choose some"));
  }
  int64_t mySteps = context_.task.training.stepsOf(context_.trainingRows.numRows(), context_.task.worker.rank,
                                                   context_.task.worker.size);
  auto steps = context_.communicator.allgather(static_cast<uint64_t>(mySteps), timeout());
  int64_t counted = static_cast<int64_t>(*std::max_element(steps.begin(), steps.end()));
  context_.progress.stepsPerEpoch(counted);
  takeSteps(counted);
  countedRows_ = true;
  checkSameRows(resumed_, RowPrint::of(context_.task, context_.trainingRows, context_.validationRows), totalRows_,
                context_.communicator.rank(), context_.log);
}

// A number that was told holds to the end, so that a rate depends on the number of its step alone.
void TrainingLoop::takeSteps(int64_t counted) {
  std::optional<int64_t> told = knownStepsPerEpoch(context_.task);
  stepsPerEpoch_ = told.value_or(counted);
  if (stepsPerEpoch_ == counted || context_.log == nullptr || context_.communicator.rank() != 0) return;
  context_.log->line(message("Steps of an epoch are ", counted, ", not the ", stepsPerEpoch_,
                             " that stepsPerEpoch says: the learning rate's schedule counts the latter"));
}

uint64_t TrainingLoop::sumOverWorkers(uint64_t value) {
  uint64_t sum = 0;
  for (uint64_t part : context_.communicator.allgather(value, timeout())) sum += part;
  return sum;
}

void TrainingLoop::run() {
  context_.progress.enter(State::kLoading);
  restore();
  if (resumed_.epoch > 1 || resumed_.step > 0) context_.keepsStatistics = true;
  if (!streams_ || resumed_.epoch > 1) awaitAllRows();
  {
    auto what = purpose("memory to share");
    context_.communicator.share(gradients_, timeout());
  }
  {
    auto what = purpose("parameter hashes");
    checkEqualParameters(layout_, context_.parameters, context_.communicator, timeout(), "before the first epoch");
  }
  for (int64_t epoch = resumed_.epoch; epoch <= context_.task.training.epochs && !stopping_.stops(); ++epoch) {
    trainEpoch(epoch);
  }
  updater_.swapAverages(context_.parameters.all());
  stopping_.restoreBest(context_.parameters.all());
}

std::unique_ptr<data::StepRows> TrainingLoop::rowsOf(int64_t epoch) const {
  if (context_.stepRows) return context_.stepRows(epoch);
  const data::RowStore& rows = context_.trainingRows;
  const TrainSpec& training = context_.task.training;
  if (streams_ && epoch == 1) {
    return std::make_unique<data::StreamedRows>(rows, batchSize_, shuffleBufferOf(context_.task), training.seed);
  }
  data::Order order(rows.numRows(), rows.rowsPerBlock(), training.seed, epoch, training.shuffle);
  return std::make_unique<data::OrderedRows>(order, batchSize_);
}

void TrainingLoop::trainEpoch(int64_t epoch) {
  // Of an epoch that was restored, or 0.
  Position begun = epoch == resumed_.epoch ? resumed_ : Position(objective_.numOutputs(), metricSums_.size());
  auto start = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(begun.seconds));
  int64_t steps = begun.step;
  totals_ = begun.totals;
  metricSums_ = begun.metricSums;
  penalties_ = begun.penalties;
  ownRows_ = begun.ownRows;
  ownBatches_ = toSkip_ = begun.batches;
  batches_.startEpoch(rowsOf(epoch));
  headerRides_ = !streams_ || epoch > 1 || !hasWeights(context_.task);
  exchangeHeaders(header_);
  // A header that rode is kept as it was: its sums may have been rounded otherwise.
  if (steps > 0 && headerRides_ && begun.next.notReady == 0) header_ = begun.next;
  int64_t rowsAtStart = context_.trainingRows.numRows() + context_.validationRows.numRows();
  if (epoch == resumed_.epoch) context_.progress.enter(State::kTraining);
  ownTime_ = {};
  for (; header_.rows > 0; std::swap(header_, next_)) {
    auto stepStart = Clock::now();
    double waitedBefore = reductionSeconds_ + averageSeconds_ + reducer_.seconds();
    context_.cancellation.throwIfCancelled();
    sums_.clear();
    if (passes_ > 1) earlierPasses(epoch);
    data::Batch* batch = batches_.peek();
    computeLosses(batch, epoch);
    describe(batch == nullptr ? nullptr : batchAfter(epoch), next_);
    next_.checkpoint = checkpointer_.isWantedAfterStep() ? 1 : 0;
    tail_.write(sums_, next_);
    allowFor(secondsSince(stepStart));
    reduceGradients(batch);
    if (batch != nullptr) popBatch();
    updateParameters(epoch, ++steps);
    if (local_.isDue()) averageParameters();
    totals_ += sums_;
    objective_.measure(totals_.losses, totals_.weights, metricSums_, soFar_);
    addPenalty(soFar_);
    double took = secondsSince(stepStart);
    deadline_.stepTook(took);
    ownTime_.add(took - (reductionSeconds_ + averageSeconds_ + reducer_.seconds() - waitedBefore));
    context_.progress.stepDone(epoch, steps, totals_.rows, soFar_, secondsSince(start), ownTime_);
    if (next_.checkpoint > 0) checkpointer_.saveInEpoch(state_, positionAt(epoch, steps, secondsSince(start)));
    if (next_.notReady > 0 || !headerRides_) exchangeHeaders(next_);
  }
  if (local_.isPending()) averageParameters();
  if (streams_ && epoch == 1) countRows();
  double trainSeconds = secondsSince(start);
  check(context_.stepRows != nullptr || totals_.rows == totalRows_.training, "Epoch did not use every row once: used ",
        totals_.rows, ", rows: ", totalRows_.training);
  checkWeights();
  {
    auto what = purpose("parameter hashes");
    checkEqualParameters(layout_, context_.parameters, context_.communicator, timeout(),
                         message("after epoch ", epoch));
  }
  auto times = batches_.takeTimes();
  if (local_.on()) averagePenalties();
  Measures training = measured(totals_, metricSums_);
  addPenalty(training);
  warnOfConstantOutputs(metricSums_, "training", epoch);
  auto evaluationStart = Clock::now();
  std::optional<Measures> validation = evaluate(epoch);
  double validationSeconds = validation ? secondsSince(evaluationStart) : 0;
  updater_.epochEnded({training.loss, validation ? std::optional(validation->loss) : std::nullopt});
  watch(epoch, training, validation);
  double allreduceSeconds = comm_.takeSeconds() + averageSeconds_;
  double exposedSeconds = std::min(reductionSeconds_ + averageSeconds_, allreduceSeconds);
  int64_t bytesSent = context_.communicator.bytesSent();
  EpochRecord record{.epoch = epoch,
                     .training = training,
                     .validation = validation,
                     .learningRate = learningRate_,
                     .samples = totals_.rows,
                     .steps = steps,
                     .seconds = trainSeconds,
                     .validationSeconds = validationSeconds,
                     .rows = ownRows_,
                     .bytes = ownRows_ * static_cast<int64_t>(context_.trainingRows.bytesPerRow()),
                     .rowsAtStart = rowsAtStart,
                     .readSeconds = times.readSeconds,
                     .waitSeconds = times.waitSeconds,
                     .assembleSeconds = times.assembleSeconds,
                     .computeSeconds = gradientSeconds_ + updateSeconds_,
                     .allreduceSeconds = allreduceSeconds,
                     .exposedAllreduceSeconds = exposedSeconds,
                     .hiddenAllreduceSeconds = allreduceSeconds - exposedSeconds,
                     .bytesSent = bytesSent - std::exchange(bytesSentBefore_, bytesSent),
                     .reducedAgain = bucketer_.takeRepeats(),
                     .stops = epoch < context_.task.training.epochs ? stopping_.reason() : ""};
  addToProfile(record);
  gradientSeconds_ = lossSeconds_ = updateSeconds_ = reductionSeconds_ = averageSeconds_ = 0;
  ownRows_ = 0;
  context_.progress.epochDone(std::move(record));
  askOwner(epoch);
  totals_.clear();
  std::fill(metricSums_.begin(), metricSums_.end(), 0.0);
  penalties_ = 0;
  ownBatches_ = 0;
  bool isLast = epoch == context_.task.training.epochs || stopping_.stops();
  checkpointer_.saveAfterEpoch(state_, positionAt(epoch + 1, 0, 0), isLast);
}

void TrainingLoop::watch(int64_t epoch, const Measures& training, const std::optional<Measures>& validation) {
  if (!stopping_.epochEnded(epoch, training, validation)) return;
  updater_.swapAverages(context_.parameters.all());
  stopping_.keep(context_.parameters.all());
  updater_.swapAverages(context_.parameters.all());
}

// Whatever the owner does meanwhile, nobody is taken for dead.
void TrainingLoop::askOwner(int64_t epoch) {
  if (!context_.task.worker.asksAfterEpoch) return;
  auto what = purpose("the answer whether to go on");
  bool asks = context_.communicator.rank() == 0;
  if (asks) context_.progress.ask();
  enum { kWaiting, kStop, kCount };
  double answers[kCount];
  do {
    context_.cancellation.throwIfCancelled();
    std::optional<bool> answer = asks ? context_.progress.answerWithin(patience_) : false;
    answers[kWaiting] = answer ? 0 : 1;
    answers[kStop] = answer.value_or(false) ? 1 : 0;
    context_.communicator.allreduce(std::span(answers), timeout());
  } while (answers[kWaiting] > 0);
  if (answers[kStop] > 0) stopping_.stop(message("it was asked to after epoch ", epoch));
}

// Batches that were trained on are assembled once more and passed over: a position in the order of rows that holds for
// any order, streamed or not.
std::optional<data::Batch*> TrainingLoop::nextBatch() {
  auto start = Clock::now();
  for (; toSkip_ > 0; --toSkip_) {
    std::optional<data::Batch*> batch = batches_.peekWithin(patience_);
    if (!batch || Clock::now() - start > patience_) return std::nullopt;
    if (*batch == nullptr) {
      throw UserError(message("Fewer rows than when the checkpoint was made: ", toSkip_, " batches are missing"));
    }
    batches_.pop();
  }
  return batches_.peekWithin(patience_);
}

void TrainingLoop::popBatch() {
  batches_.pop();
  ++ownBatches_;
}

Position TrainingLoop::positionAt(int64_t epoch, int64_t step, double seconds) const {
  Position position(objective_.numOutputs(), 0);
  position.epoch = epoch;
  position.step = step;
  position.totals = totals_;
  position.penalties = penalties_;
  position.learningRate = learningRate_;
  position.next = next_;
  if (countedRows_) {
    position.rows = totalRows_;
    position.print = RowPrint::of(context_.task, context_.trainingRows, context_.validationRows);
  }
  position.batches = ownBatches_;
  position.ownRows = ownRows_;
  position.seconds = seconds;
  position.metricSums = metricSums_;
  return position;
}

void TrainingLoop::restore() {
  if (context_.checkpoints == nullptr || context_.checkpoints->saved.shared.empty()) return;
  state_.read(context_.checkpoints->saved, resumed_, context_.log);
  context_.checkpoints->saved = {};
  learningRate_ = resumed_.learningRate;
}

// What was submitted before keeps its own.
void TrainingLoop::allowFor(double seconds) {
  deadline_.stepTakes(seconds);
  comm_.setTimeout(timeout());
}

void TrainingLoop::awaitBucket(size_t bucket) {
  TraceScope scope(context_.trace, "wait for bucket", "compute", &reductionSeconds_, static_cast<int64_t>(bucket + 1));
  bucketer_.await(bucket);
}

void TrainingLoop::addToProfile(const EpochRecord& epoch) {
  if (context_.profile == nullptr) return;
  StepProfile& profile = *context_.profile;
  profile.steps += epoch.steps;
  profile.lossSeconds += lossSeconds_;
  profile.updateSeconds += updateSeconds_;
  profile.allreduceSeconds += reductionSeconds_ + averageSeconds_;
  profile.waitSeconds += epoch.waitSeconds;
  profile.seconds += epoch.seconds;
}

void TrainingLoop::describe(std::optional<const data::Batch*> batch, StepHeader& header) const {
  const data::Batch* known = batch.value_or(nullptr);
  header.notReady = batch ? 0 : 1;
  header.rows = known == nullptr ? 0 : known->numRows;
  for (size_t i = 0; i < header.weights.size(); ++i) {
    header.weights[i] = known == nullptr ? 0.0 : known->targets[i].weightSum;
  }
}

// Whose rows this worker's gradients are divided by: all workers', or, while it trains on its own, its own.
const StepHeader& TrainingLoop::divisor(const data::Batch* batch) {
  if (!local_.on()) return header_;
  describe(batch, ownHeader_);
  return ownHeader_;
}

// Before an epoch's first step, which no step announced, and when a worker could not tell in time.
void TrainingLoop::exchangeHeaders(StepHeader& header) {
  auto what = purpose("step headers");
  TraceScope scope(context_.trace, "exchange headers", "compute");
  do {
    context_.cancellation.throwIfCancelled();
    describe(nextBatch(), header);
    std::copy(header.weights.begin(), header.weights.end(), headerSums_.begin());
    double* counts = &headerSums_[header.weights.size()];
    counts[0] = static_cast<double>(header.rows);
    counts[1] = static_cast<double>(header.notReady);
    context_.communicator.allreduce(headerSums_, timeout());
    std::copy_n(headerSums_.begin(), header.weights.size(), header.weights.begin());
    header.rows = static_cast<int64_t>(counts[0]);
    header.notReady = static_cast<int64_t>(counts[1]);
  } while (header.notReady > 0);
}

// While rows still come, nobody is kept waiting for them now: whoever cannot tell says so.
std::optional<data::Batch*> TrainingLoop::batchAfter(int64_t epoch) {
  return streams_ && epoch == 1 ? batches_.peekSecondWithin(comm::Timeout(0)) : batches_.peekSecond();
}

void TrainingLoop::earlierPasses(int64_t epoch) {
  accumulated_.clear();
  for (int64_t pass = 1; pass < passes_ && batches_.peek() != nullptr && batches_.peekSecond() != nullptr; ++pass) {
    computeLosses(batches_.peek(), epoch);
    NoGradientSink sink;
    computeGradients(batches_.peek(), sink);
    accumulated_.add();
    popBatch();
  }
}

void TrainingLoop::computeLosses(const data::Batch* batch, int64_t epoch) {
  TraceScope scope(context_.trace, "forward", "compute", &gradientSeconds_);
  if (batch == nullptr) return takePartWithoutRows(epoch);
  bool divides = passes_ == 1;  // else the update does
  const StepHeader& header = divisor(batch);
  double rows = static_cast<double>(batch->numRows);
  plan_->forward(inputOf(*batch, epoch, divides ? rows / static_cast<double>(header.rows) : rows), nn::Mode::kTraining);
  {
    TraceScope loss(context_.trace, "loss", "compute", &lossSeconds_);
    objective_.compute(*plan_, *batch, divides ? header.weights : ones_, own_.losses, metricSums_);
  }
  own_.rows = batch->numRows;
  ownRows_ += batch->numRows;
  for (size_t i = 0; i < own_.weights.size(); ++i) own_.weights[i] = batch->targets[i].weightSum;
  sums_ += own_;
}

// The others' statistics wait for everybody.
void TrainingLoop::takePartWithoutRows(int64_t epoch) {
  rows_.clearArena();
  if (!context_.task.graph.synchronizesStatistics()) return;
  plan_->forward({noInputs_, {}, 0, epoch, 0.0}, nn::Mode::kTraining);
  for (size_t i = 0; i < objective_.numOutputs(); ++i) {
    std::span<float> gradients = plan_->logitGradients(i).span();
    std::fill(gradients.begin(), gradients.end(), 0.0f);
  }
}

void TrainingLoop::computeGradients(const data::Batch* batch, GradientSink& sink) {
  TraceScope scope(context_.trace, "backward", "compute", &gradientSeconds_);
  bool takesPart = batch != nullptr || context_.task.graph.synchronizesStatistics();
  bool counts = divisor(batch).hasWeight() || (passes_ > 1 && batch != nullptr);
  if (takesPart && counts) plan_->backward(sink);
}

// Synchronised statistics use the communicator in the middle of backward: then reductions begin behind it.
void TrainingLoop::reduceGradients(const data::Batch* batch) {
  NoGradientSink none;
  GradientSink& out = context_.task.graph.synchronizesStatistics() ? static_cast<GradientSink&>(none) : bucketer_;
  if (passes_ > 1) accumulated_.markRows();
  bucketer_.begin();
  computeGradients(batch, passes_ > 1 ? accumulated_.before(out) : out);
  bucketer_.finish();
}

void TrainingLoop::checkFinite(int64_t epoch, int64_t step) {
  for (size_t i = 0; i < sums_.losses.size(); ++i) {
    if (std::isfinite(sums_.losses[i])) continue;
    comm_.wait();  // everybody stops here: reductions that were begun would be left without peers
    std::string columns, output;
    for (const std::string& name : context_.task.columns.featureNames())
      columns += (columns.empty() ? "'" : ", '") + name + "'";
    if (sums_.losses.size() > 1) output = message(", output '", context_.task.training.heads[i].output.name, "'");
    // The sign of a NaN means nothing.
    double loss = std::isnan(sums_.losses[i]) ? std::abs(sums_.losses[i]) : sums_.losses[i];
    throw UserError(message("Loss is not finite: ", loss, output, ", epoch ", epoch, ", step ", step,
                            ", lower the learning rate or look for NaN in column ", columns));
  }
}

// Bucket by bucket, as they come; the first brings the sums of the step.
void TrainingLoop::updateParameters(int64_t epoch, int64_t step) {
  const std::vector<comm::Bucket>& buckets = bucketer_.buckets();
  brought_ = sums_;
  awaitBucket(0);
  tail_.read(sums_, next_);
  checkFinite(epoch, step);
  const StepSums& counted = local_.on() ? brought_ : sums_;
  double weight = *std::max_element(counted.weights.begin(), counted.weights.end());
  std::span<float> parameters = context_.parameters.all(), gradients = gradients_.all().first(parameters.size());
  auto update = [&](size_t first, size_t size) {
    TraceScope scope(context_.trace, "optimizer", "compute", &updateSeconds_);
    followStatistics(first, size, counted.rows);
    penalties_ += updater_.update(parameters, gradients, first, size) * static_cast<double>(sums_.rows);
  };
  if (sums_.totalWeight() > 0) {  // which counts as a step on a worker without weight of its own, too
    learningRate_ = updater_.learningRate(stepsPerEpoch_);
    updater_.begin(stepsPerEpoch_, passes_ > 1 && weight > 0 ? 1 / weight : 1.0);
  }
  for (size_t i = 0; i < buckets.size(); ++i) {
    awaitBucket(i);
    size_t end = std::min(buckets[i].first + buckets[i].size, parameters.size());
    if (weight > 0 && updater_.updatesInParts() && buckets[i].first < end) {
      update(buckets[i].first, end - buckets[i].first);
    }
  }
  if (weight > 0 && !updater_.updatesInParts()) update(0, parameters.size());
  if (sums_.totalWeight() > 0) updater_.end();
  local_.stepDone(brought_.totalWeight(), sums_.totalWeight());
}

// Running statistics came through the reduction in place of gradients, weighted by rows.
void TrainingLoop::followStatistics(size_t first, size_t size, int64_t rows) {
  float scale = passes_ > 1 ? 1.0f / static_cast<float>(rows) : 1.0f;
  for (const Statistic& statistic : statistics_) {
    if (statistic.first < first || statistic.first >= first + size) continue;
    float* values = context_.parameters.all().data() + statistic.first;
    const float* news = gradients_.all().data() + statistic.first;
    for (size_t i = 0; i < statistic.size; ++i) {
      values[i] = statistic.momentum * values[i] + (1 - statistic.momentum) * news[i] * scale;
    }
  }
}

void TrainingLoop::averageParameters() {
  TraceScope scope(context_.trace, "average parameters", "compute", &averageSeconds_);
  auto what = purpose("parameters");
  local_.average(context_.parameters.all(), updater_.averages(), context_.communicator, timeout());
}

// The same on all workers.
void TrainingLoop::checkWeights() const {
  if (totals_.rows == 0 || totals_.totalWeight() > 0) return;
  const std::string& column = context_.task.columns.weight;
  throw UserError(message("All ", totals_.rows, " rows weigh 0, so nothing is learnt: look at ",
                          column.empty() ? "classWeights" : message("column '", column, "', the weights")));
}

// Each worker added those of its own parameters; what schedules see must be the same for all.
void TrainingLoop::averagePenalties() {
  auto what = purpose("penalties");
  context_.communicator.allreduce(std::span(&penalties_, 1), timeout());
  penalties_ /= context_.communicator.size();
}

void TrainingLoop::addPenalty(Measures& measures) const {
  if (totals_.rows > 0) measures.loss += penalties_ / static_cast<double>(totals_.rows);
}

// Losses are summed over all workers already, metrics are here.
Measures TrainingLoop::measured(const StepSums& sums, std::span<double> metricSums) {
  auto what = purpose("metrics");
  if (!metricSums.empty()) context_.communicator.allreduce(metricSums, timeout());
  Measures measures;
  objective_.measure(sums.losses, sums.weights, metricSums, measures);
  return measures;
}

// Ranks go through their validation rows side by side, so that a rank with few of them never waits past its deadline.
std::optional<Measures> TrainingLoop::evaluate(int64_t epoch) {
  if (totalRows_.validation == 0) return std::nullopt;
  auto what = purpose("validation");
  TraceScope scope(context_.trace, "validation", "compute");
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
    context_.communicator.allreduce(std::span(&waiting, 1), timeout());
  }
  context_.communicator.allreduce(totals.losses, timeout());
  context_.communicator.allreduce(totals.weights, timeout());
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

}  // namespace bloomery::train
