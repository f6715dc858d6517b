#include "tools/TraceFile.h"

#include <algorithm>

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::tools {

namespace {

constexpr int kProcess = 1;

Json nameEvent(const char* what, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", kProcess}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(path) {
  if (!file_) throw UserError(message("Cannot write file: ", path));
  file_ << "{\"traceEvents\": [";
  write(nameEvent("process_name", 0, "bloomery-train"));
}

TraceFile::~TraceFile() { file_ << "\n]}\n"; }

void TraceFile::write(const Json& event) {
  file_ << (first_ ? "\n" : ",\n") << event.dump();
  first_ = false;
}

int TraceFile::idOf(const std::string& thread) {
  auto found = std::ranges::find(threads_, thread);
  int id = static_cast<int>(found - threads_.begin()) + 1;
  if (found == threads_.end()) {
    threads_.push_back(thread);
    write(nameEvent("thread_name", id, thread));
  }
  return id;
}

void TraceFile::add(const Json& spans) {
  for (const Json& span : spans) {
    int thread = idOf(span.at("thread").get<std::string>());
    write({{"name", span.at("name")},
           {"ph", "X"},
           {"pid", kProcess},
           {"tid", thread},
           {"ts", span.at("startMicros")},
           {"dur", span.at("durationMicros")}});
  }
}

}  // namespace bloomery::tools
