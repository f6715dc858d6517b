#include "train/Trainer.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Instructions.h"
#include "base/JsonValue.h"
#include "base/NamedThread.h"
#include "checkpoint/Safetensors.h"
#include "comm/local/LocalGroup.h"
#include "train/CheckpointSettings.h"
#include "train/ComputeThreads.h"
#include "train/InstructionAgreement.h"
#include "train/LateColumns.h"

namespace bloomery::train {

namespace {

// What the workers take to agree that all have a first batch is less, unless some have no rows yet.
constexpr auto kGivenWay = std::chrono::milliseconds(20);

comm::Timeout toTimeout(double seconds) { return comm::Timeout(static_cast<int64_t>(seconds * 1000)); }

// A task with the columns of rows that are there, and with what they settle.
TaskSpec over(const std::string& text, const LoadedRows& rows) {
  TaskSpec task = TaskSpec::parse(text);
  check(kindOfRows(task) == rows.kind(), "Rows are of another kind: ", rows.kind(), ", wanted ", kindOfRows(task));
  task.columns = rows.columns();
  return task;
}

}  // namespace

Trainer::Trainer(const std::string& task, std::span<const std::byte> initialWeights)
    : Trainer(TaskSpec::parse(task), task, initialWeights, nullptr) {}

Trainer::Trainer(const std::string& task, std::span<const std::byte> initialWeights, Trainer& finished)
    : Trainer(over(task, *finished.rows_), task, initialWeights, finished.rows_) {
  check(finished.finished_, "Rows of a trainer were taken over before it was finished");
  // It may still give back what it borrowed of the rows.
  if (finished.thread_.joinable()) finished.thread_.join();
  progress_.rowsLoaded(rows_->numRows(), 0, 0);
}

Trainer::Trainer(TaskSpec task, const std::string& text, std::span<const std::byte> initialWeights,
                 std::shared_ptr<LoadedRows> rows)
    : task_(std::move(task)),
      layout_(task_.graph.parameters().layout()),
      parameters_(layout_),
      rows_(rows != nullptr ? std::move(rows) : std::make_shared<LoadedRows>(task_)),
      progress_(task_.training.epochs, metricNames(task_.training.heads)),
      rowsOfFirstStep_(rowsOfFirstStep(task_)),
      restored_(!initialWeights.empty()) {
  instructions();  // its environment may ask for some that do not exist
  checkpoints_.settings = settingsOf(task_, text).dump();
  if (task_.checkpoint) progress_.keepHistory();
  task_.graph.parameters().initialize(task_.training.seed, parameters_);
  if (!initialWeights.empty()) beginWith(initialWeights);
  const WorkerSpec& worker = task_.worker;
  if (worker.traceLayers) {
    traced_.tracesLayers = true;
    profile_ = &traced_;
  }
  if (worker.size > 1) {
    connector_ =
        std::make_unique<comm::GlooConnector>(worker.rank, worker.size, worker.host, toTimeout(worker.connectTimeout));
  }
}

// Statistics of input that are among the new ones are measured, and then those of all Normalization layers are.
void Trainer::beginWith(std::span<const std::byte> weights) {
  std::vector<std::string> missing = checkpoint::readMatching(weights, layout_, parameters_);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  log_.line(message("Weights that the initial model does not have begin anew: ", names));
  for (size_t index : task_.graph.measuredNodes()) {
    const std::string& name = layout_.slices()[task_.graph.nodes()[index].firstParameter].name;
    if (std::find(missing.begin(), missing.end(), name) != missing.end()) restored_ = false;
  }
}

Trainer::~Trainer() {
  cancel();
  if (thread_.joinable()) thread_.join();
  if (planning_.joinable()) planning_.join();
}

std::string Trainer::address() {
  bool agreed = connector_ == nullptr || instructions().isFixed();
  if (agreed && communicator_ == nullptr && !plan_.valid()) planAhead();
  return connector_ == nullptr ? std::string() : withInstructions(connector_->address());
}

// What goes wrong there is thrown where the plan is wanted.
void Trainer::planAhead() {
  std::packaged_task<std::unique_ptr<StepPlan>()> task([this] {
    setComputeThreads(task_.worker.threads);
    return std::make_unique<StepPlan>(task_, parameters_, task_.worker.size, profile_);
  });
  plan_ = task.get_future();
  planning_ = namedThread("bloomery-plan", std::move(task));
}

void Trainer::restore() {
  check(communicator_ == nullptr, "Trainer was restored after it was started");
  checkGoesOn(saved(), task_, checkpoints_.settings);
  if (saved().recovers) instructions().limit(savedInstructions(saved()));
  progress_.restoreHistory(savedEpochs(saved()));
}

void Trainer::restoreWeights() {
  check(communicator_ == nullptr, "Trainer was restored after it was started");
  checkpoint::readSafetensors(std::as_bytes(std::span(saved().shared)), layout_, parameters_);
  checkpoints_.saved = {};
}

void Trainer::connect(const std::vector<std::string>& addresses, const std::string& credentials) {
  check(static_cast<int>(addresses.size()) == task_.worker.size, "Wrong number of addresses: ", addresses.size());
  if (connector_ == nullptr) return start(std::move(comm::makeLocalGroup(1)[0]), {});
  std::vector<std::string> places = agreeOnInstructions(addresses, task_.worker.rank, log_);
  if (!plan_.valid()) planAhead();
  start(connector_->connect(places, credentials, cancellation_, log_), {});
}

void Trainer::start(std::unique_ptr<comm::Communicator> communicator, StepRowsOfEpoch stepRows) {
  check(communicator_ == nullptr, "Trainer was started twice");
  {
    std::lock_guard lock(mutex_);
    communicator_ = std::move(communicator);
  }
  thread_ = namedThread("bloomery-train", [this, stepRows = std::move(stepRows)] { compute(stepRows); });
}

void Trainer::compute(const StepRowsOfEpoch& stepRows) {
  try {
    setComputeThreads(task_.worker.threads);
    treatTinyNumbersAsZero();
    TrainingLoop loop({task_, parameters_, rows_->training(), rows_->validation(), *communicator_, cancellation_,
                       progress_, trace_, stepRows, profile_, &log_, &checkpoints_, restored_,
                       plan_.valid() ? plan_.get() : nullptr});
    loop.run();
    finished_ = true;
    progress_.enter(State::kFinished);
  } catch (const Error& error) {
    // Whoever was told to stop sees the others go and its own calls given up: neither is the cause.
    bool isSymptom = error.kind() == ErrorKind::kPeerLost || error.kind() == ErrorKind::kCancelled;
    std::string place = progress_.place();
    if (isSymptom && cancellation_.cancelled()) {
      fail(std::make_exception_ptr(Cancelled("Training was cancelled")));
    } else if (error.kind() == ErrorKind::kPeerLost && !place.empty()) {
      fail(std::make_exception_ptr(PeerLost(message(error.what(), ", ", place))));
    } else {
      fail(std::current_exception());
    }
  } catch (const std::bad_alloc&) {
    fail(std::make_exception_ptr(ResourceError("Out of memory while training: lower batchSize")));
  } catch (...) {
    fail(std::current_exception());
  }
}

// The failure is kept first: when the peers see this rank go, its cause can be asked for.
void Trainer::fail(std::exception_ptr failure) {
  progress_.fail(failure);
  communicator_->abort();
}

void Trainer::ingestSchema(void* arrowSchema) {
  rows_->schema(arrowSchema);
  lastIngest_ = Trace::Clock::now();
}

void Trainer::ingest(void* arrowArray, int partition, int64_t firstRow) {
  auto came = Trace::Clock::now();
  trace_.record("read", "ingest", lastIngest_, came);
  std::chrono::duration<double> reading = came - lastIngest_;
  double converting = 0;
  {
    TraceScope scope(trace_, "ingest", "ingest", &converting);
    rows_->ingest(arrowArray, partition, firstRow);
  }
  giveWayToFirstStep();
  lastIngest_ = Trace::Clock::now();
  progress_.rethrowFailure();
  progress_.rowsLoaded(rows_->numRows(), reading.count(), converting);
}

// Once, when the rows are enough for it: the threads that make it have the cores, and wait for no more rows than that.
void Trainer::giveWayToFirstStep() {
  if (gaveWay_ || rows_->training().numRows() < rowsOfFirstStep_) return;
  gaveWay_ = true;
  progress_.awaitTraining(kGivenWay);
}

void Trainer::finishIngest() { rows_->finish(); }

// With what the worker is about, and for how long: an operation among the workers, or work of its own.
Json Trainer::poll(std::chrono::milliseconds wait) {
  Json news = progress_.poll(wait, log_, trace_);
  std::lock_guard lock(mutex_);
  if (communicator_ == nullptr) return news;
  comm::Activity::State activity = communicator_->activity().now();
  news["doing"] = activity.text();
  news["doingSeconds"] = std::chrono::duration<double>(comm::Activity::Clock::now() - activity.since).count();
  return news;
}

Json Trainer::takeLog() { return {{"log", log_.drain()}}; }

std::string Trainer::weights() {
  check(finished_, "Weights were asked for before training was finished");
  std::map<std::string, std::string> metadata = {{"format", "bloomery"}, {"network", task_.graph.name()}};
  if (std::string settled = settledColumns(task_.columns); !settled.empty()) metadata["columns"] = settled;
  return checkpoint::writeSafetensors(layout_, parameters_, metadata);
}

void Trainer::cancel() {
  cancellation_.cancel();
  std::lock_guard lock(mutex_);
  if (communicator_ != nullptr && !finished_) communicator_->abort();
}

}  // namespace bloomery::train
