// Records what a thread did and for how long, into a ring that is allocated once, so that tracing never allocates in
// the loop. The owner drains it; spans that nobody drained in time are overwritten. Names must be string literals, or
// outlive the reading; a number may tell spans of one name apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace bloomery {

inline constexpr int64_t kNoNumber = -1;

struct TraceSpan {
  const char* name;
  const char* thread;
  int64_t startMicros;  // since the trace was made
  int64_t durationMicros;
  int64_t number = kNoNumber;

  std::string title() const;  // the name with its number
};

class Trace {
 public:
  explicit Trace(size_t capacity = 1 << 14) : ring_(capacity) {}

  using Clock = std::chrono::steady_clock;
  void record(const char* name, const char* thread, Clock::time_point start, Clock::time_point end,
              int64_t number = kNoNumber);
  std::vector<TraceSpan> drain();
  // When it was made, by this machine's clock: the one that a JVM's nanoTime reads, too.
  int64_t originMicros() const;

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
  TraceScope(Trace& trace, const char* name, const char* thread, double* seconds = nullptr, int64_t number = kNoNumber)
      : trace_(trace), name_(name), thread_(thread), seconds_(seconds), number_(number) {}
  ~TraceScope() {
    auto end = Trace::Clock::now();
    trace_.record(name_, thread_, start_, end, number_);
    if (seconds_ != nullptr) *seconds_ += std::chrono::duration<double>(end - start_).count();
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace& trace_;
  const char* name_;
  const char* thread_;
  double* seconds_;
  int64_t number_;
  Trace::Clock::time_point start_ = Trace::Clock::now();
};

}  // namespace bloomery
