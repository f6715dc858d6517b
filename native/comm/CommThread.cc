#include "comm/CommThread.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/NamedThread.h"

namespace bloomery::comm {

namespace {

constexpr size_t kCapacity = 1024;  // reductions that may wait; `submit` waits when there are more

}  // namespace

// Values or a reduction.
struct CommThread::Job {
  std::span<float> values;
  Reduction* reduction = nullptr;
  Purpose purpose = {};
  Timeout timeout = {};

  void run(Communicator& communicator) const {
    Activity::For what(communicator.activity(), purpose);
    if (reduction != nullptr) return reduction->run(communicator, timeout);
    communicator.allreduce(values, timeout);
  }
};

struct CommThread::State {
  State(Communicator& communicatorIn, Timeout timeoutIn, Trace& traceIn)
      : communicator(communicatorIn), timeout(timeoutIn), trace(traceIn) {}
  void run();

  Communicator& communicator;
  Timeout timeout;
  Trace& trace;

  std::mutex mutex;
  std::condition_variable changed;
  std::array<Job, kCapacity> ring;
  size_t first = 0;
  size_t count = 0;     // the one under way included
  uint64_t ticket = 0;  // of the last one submitted
  std::exception_ptr error;
  double seconds = 0;
  bool stopping = false;
  std::thread thread;
};

void CommThread::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || count > 0; });
    if (stopping) return;
    Job job = ring[first];
    bool useless = error != nullptr;  // after a failure the communicator is dead
    lock.unlock();
    std::exception_ptr failure;
    double spent = 0;
    if (!useless) {
      try {
        int64_t number = job.purpose.count == 0 ? kNoNumber : static_cast<int64_t>(job.purpose.number);
        TraceScope scope(trace, "bucket", "comm", &spent, number);
        job.run(communicator);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    lock.lock();
    seconds += spent;
    if (error == nullptr) error = failure;
    first = (first + 1) % kCapacity;
    --count;
    changed.notify_all();
  }
}

CommThread::CommThread(Communicator& communicator, Timeout timeout, Trace& trace)
    : state_(std::make_unique<State>(communicator, timeout, trace)) {
  state_->thread = namedThread("bloomery-comm", [state = state_.get()] { state->run(); });
}

CommThread::~CommThread() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

uint64_t CommThread::submit(std::span<float> values, Purpose purpose) { return submit(Job{values, nullptr, purpose}); }

uint64_t CommThread::submit(Reduction& reduction, Purpose purpose) { return submit(Job{{}, &reduction, purpose}); }

void CommThread::setTimeout(Timeout timeout) {
  std::lock_guard lock(state_->mutex);
  state_->timeout = timeout;
}

uint64_t CommThread::submit(const Job& job) {
  if (state_->communicator.size() == 1) return 0;  // the values are the sums
  uint64_t ticket = 0;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->count < kCapacity; });
    Job& queued = state_->ring[(state_->first + state_->count) % kCapacity];
    queued = job;
    queued.timeout = state_->timeout;
    ++state_->count;
    ticket = ++state_->ticket;
  }
  state_->changed.notify_all();
  return ticket;
}

void CommThread::wait(uint64_t ticket) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->ticket - state_->count >= ticket; });
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
}

void CommThread::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->count == 0; });
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
}

int CommThread::rank() const { return state_->communicator.rank(); }

int CommThread::size() const { return state_->communicator.size(); }

double CommThread::takeSeconds() {
  std::lock_guard lock(state_->mutex);
  return std::exchange(state_->seconds, 0.0);
}

}  // namespace bloomery::comm
