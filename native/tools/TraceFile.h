// Writes spans of a trainer's trace as a Chrome trace (chrome://tracing, Perfetto): one line for each of its threads.
// Spans go to the file as they come; the destructor ends it, so that it is valid JSON however training ends.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "base/Json.h"

namespace bloomery::tools {

class TraceFile {
 public:
  // UserError when the file cannot be written.
  explicit TraceFile(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // The list "trace" of a poll.
  void add(const Json& spans);

 private:
  int idOf(const std::string& thread);
  void write(const Json& event);

  std::ofstream file_;
  std::vector<std::string> threads_;
  bool first_ = true;
};

}  // namespace bloomery::tools
