#include "base/Log.h"

namespace bloomery {

void Log::line(std::string text) {
  std::lock_guard lock(mutex_);
  if (lines_.size() == kMaxLines) lines_.pop_front();
  lines_.push_back(std::move(text));
}

std::vector<std::string> Log::drain() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> result(lines_.begin(), lines_.end());
  lines_.clear();
  return result;
}

}  // namespace bloomery
