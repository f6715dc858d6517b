// Where the engine's log lines wait until the owner of a trainer drains them. Bounded: when nobody drains, the oldest
// lines go. Any thread may write.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace bloomery {

class Log {
 public:
  void line(std::string text);
  std::vector<std::string> drain();

 private:
  static constexpr size_t kMaxLines = 1000;

  std::mutex mutex_;
  std::deque<std::string> lines_;
};

}  // namespace bloomery
