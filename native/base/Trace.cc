#include "base/Trace.h"

namespace bloomery {

void Trace::record(const char* name, const char* thread, Clock::time_point start, Clock::time_point end) {
  auto micros = [](Clock::duration d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count(); };
  std::lock_guard lock(mutex_);
  if (count_ == ring_.size()) {
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
  ring_[(first_ + count_) % ring_.size()] = {name, thread, micros(start - origin_), micros(end - start)};
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
