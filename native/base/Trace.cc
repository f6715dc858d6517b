#include "base/Trace.h"

namespace bloomery {

namespace {

int64_t micros(Trace::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

std::string TraceSpan::title() const {
  return number == kNoNumber ? std::string(name) : std::string(name) + " " + std::to_string(number);
}

int64_t Trace::originMicros() const { return micros(origin_.time_since_epoch()); }

void Trace::record(const char* name, const char* thread, Clock::time_point start, Clock::time_point end,
                   int64_t number) {
  std::lock_guard lock(mutex_);
  if (count_ == ring_.size()) {
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
  ring_[(first_ + count_) % ring_.size()] = {name, thread, micros(start - origin_), micros(end - start), number};
  ++count_;
}

std::vector<TraceSpan> Trace::drain() {
  std::lock_guard lock(mutex_);
  std::vector<TraceSpan> result(count_);
  for (size_t i = 0; i < count_; ++i) result[i] = ring_[(first_ + i) % ring_.size()];
  first_ = count_ = 0;
  return result;
}

}  // namespace bloomery
