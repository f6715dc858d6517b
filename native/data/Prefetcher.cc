#include "data/Prefetcher.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/Error.h"
#include "base/NamedThread.h"

namespace bloomery::data {

namespace {

// A cancellation does not notify, so waits look at it this often.
constexpr auto kCancellationInterval = std::chrono::milliseconds(20);
// Of all buffers together, when there are more than were asked for.
constexpr size_t kMostBytes = size_t{32} << 20;
constexpr auto kForever = std::chrono::milliseconds::max();

}  // namespace

struct Prefetcher::State {
  State(const RowStore& rows, int64_t batchSize, int depth, const Cancellation& cancellation, Trace& trace,
        ClassWeights classWeights);
  void run();
  std::optional<Batch*> waitFor(size_t index, std::chrono::milliseconds patience);
  void addBuffers();

  const RowStore& rows;
  Batcher batcher;
  const Cancellation& cancellation;
  Trace& trace;
  std::vector<int64_t> stepRows;  // touched by the prefetch thread only

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Batch> ring;
  size_t first = 0;                 // oldest assembled batch
  size_t count = 0;                 // assembled batches that were not taken
  std::unique_ptr<StepRows> steps;  // null: no epoch, or its last batch is assembled
  bool waitsForRows = false;        // the epoch's rows may still have to come
  bool wasLate = false;             // the compute thread had to wait for another batch than the first
  int64_t numTaken = 0;             // batches of the epoch
  bool isNewEpoch = false;          // nothing was assembled of it yet; for the prefetch thread while there are steps
  std::exception_ptr error;
  PrefetchTimes times;
  bool stopping = false;
  std::thread thread;
};

Prefetcher::State::State(const RowStore& rowStore, int64_t batchSize, int depth, const Cancellation& cancelled,
                         Trace& traceOut, ClassWeights classWeights)
    : rows(rowStore),
      batcher(rowStore, std::move(classWeights)),
      cancellation(cancelled),
      trace(traceOut),
      stepRows(static_cast<size_t>(batchSize)) {
  check(batchSize > 0 && depth > 0, "Prefetch of ", depth, " batches of ", batchSize, " rows");
  // The compute thread holds up to two batches, the one it works on and the one the next header speaks of.
  size_t numBuffers = static_cast<size_t>(depth) + 2;
  ring.reserve(numBuffers);
  for (size_t i = 0; i < numBuffers; ++i) ring.emplace_back(batchSize, rows.format());
}

void Prefetcher::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || (steps != nullptr && count < ring.size()); });
    if (stopping) return;
    // Only this thread adds batches and ends epochs, so both stay as they are while it works unlocked.
    Batch& batch = ring[(first + count) % ring.size()];
    StepRows& source = *steps;
    lock.unlock();
    std::exception_ptr failure;
    size_t numRows = 0;
    double seconds = 0;
    bool isReady = false;
    try {
      if (std::exchange(isNewEpoch, false)) batcher.beginEpoch(source.order());
      isReady = source.awaitNext();
      if (isReady) {
        TraceScope scope(trace, "assemble", "prefetch", &seconds);
        numRows = source.next(stepRows);
        batcher.assemble(std::span(stepRows).first(numRows), batch);
        if (numRows == 0) batcher.endEpoch();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!isReady && failure == nullptr) continue;
    times.assembleSeconds += seconds;
    times.readSeconds += batcher.takeReadSeconds();
    if (failure != nullptr) error = failure;
    if (failure != nullptr || numRows == 0) steps.reset();
    if (failure == nullptr && numRows > 0) ++count;
    changed.notify_all();
  }
}

// Called between epochs: nobody holds a batch then.
void Prefetcher::State::addBuffers() {
  size_t bytesOfOne = 0;
  for (const FeatureFormat& feature : rows.format().features) {
    bytesOfOne += stepRows.size() * static_cast<size_t>(feature.count) * sizeof(float);
  }
  size_t most = std::min(2 * ring.size(), kMostBytes / bytesOfOne);
  while (ring.size() < most) ring.emplace_back(static_cast<int64_t>(stepRows.size()), rows.format());
}

std::optional<Batch*> Prefetcher::State::waitFor(size_t index, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex);
  auto ready = [&] { return count > index || steps == nullptr; };
  cancellation.throwIfCancelled();
  if (!ready()) {
    wasLate = wasLate || (!waitsForRows && numTaken > 0);
    TraceScope scope(trace, "wait for data", "compute", &times.waitSeconds);
    for (auto left = patience; !ready() && left.count() > 0; left -= kCancellationInterval) {
      changed.wait_for(lock, std::min(left, kCancellationInterval), ready);
      cancellation.throwIfCancelled();
    }
    if (!ready()) return std::nullopt;
  }
  if (count > index) return &ring[(first + index) % ring.size()];
  if (error != nullptr) std::rethrow_exception(error);
  return nullptr;
}

Prefetcher::Prefetcher(const RowStore& rows, int64_t batchSize, int depth, const Cancellation& cancellation,
                       Trace& trace, ClassWeights classWeights)
    : state_(std::make_unique<State>(rows, batchSize, depth, cancellation, trace, std::move(classWeights))) {
  state_->thread = namedThread("bloomery-batch", [state = state_.get()] { state->run(); });
}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Prefetcher::startEpoch(std::unique_ptr<StepRows> steps) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->error != nullptr) std::rethrow_exception(state_->error);
    check(state_->steps == nullptr && state_->count == 0, "The epoch before was not taken to its end");
    if (std::exchange(state_->wasLate, false)) state_->addBuffers();
    state_->waitsForRows = steps->order() == nullptr;
    state_->numTaken = 0;
    state_->steps = std::move(steps);
    state_->isNewEpoch = true;
  }
  state_->changed.notify_all();
}

Batch* Prefetcher::peek() { return *state_->waitFor(0, kForever); }

Batch* Prefetcher::peekSecond() { return *state_->waitFor(1, kForever); }

std::optional<Batch*> Prefetcher::peekWithin(std::chrono::milliseconds patience) {
  return state_->waitFor(0, patience);
}

std::optional<Batch*> Prefetcher::peekSecondWithin(std::chrono::milliseconds patience) {
  return state_->waitFor(1, patience);
}

void Prefetcher::pop() {
  {
    std::lock_guard lock(state_->mutex);
    check(state_->count > 0, "No batch to take");
    state_->first = (state_->first + 1) % state_->ring.size();
    --state_->count;
    ++state_->numTaken;
  }
  state_->changed.notify_all();
}

PrefetchTimes Prefetcher::takeTimes() {
  std::lock_guard lock(state_->mutex);
  return std::exchange(state_->times, {});
}

}  // namespace bloomery::data
