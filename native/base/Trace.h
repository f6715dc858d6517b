// Records what a thread did and for how long, into a ring that is allocated once, so that tracing never allocates in
// the loop. The owner drains it; spans that nobody drained in time are overwritten. Names must be string literals.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace bloomery {

struct TraceSpan {
  const char* name;
  const char* thread;
  int64_t startMicros;
  int64_t durationMicros;
};

class Trace {
 public:
  explicit Trace(size_t capacity = 1 << 14) : ring_(capacity) {}

  using Clock = std::chrono::steady_clock;
  void record(const char* name, const char* thread, Clock::time_point start, Clock::time_point end);
  std::vector<TraceSpan> drain();

 private:
  std::mutex mutex_;
  std::vector<TraceSpan> ring_;
  size_t first_ = 0;
  size_t count_ = 0;
  Clock::time_point origin_ = Clock::now();
};

// Measures its own life time: records a span and adds the seconds to a counter.
class TraceScope {
 public:
  TraceScope(Trace& trace, const char* name, const char* thread, double* seconds = nullptr)
      : trace_(trace), name_(name), thread_(thread), seconds_(seconds) {}
  ~TraceScope() {
    auto end = Trace::Clock::now();
    trace_.record(name_, thread_, start_, end);
    if (seconds_ != nullptr) *seconds_ += std::chrono::duration<double>(end - start_).count();
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace& trace_;
  const char* name_;
  const char* thread_;
  double* seconds_;
  Trace::Clock::time_point start_ = Trace::Clock::now();
};

}  // namespace bloomery
