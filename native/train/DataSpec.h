// How a worker keeps and walks its rows, as the task JSON says it in "data", and whether training can begin while they
// still come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/Json.h"

namespace bloomery::train {

struct TaskSpec;

struct DataSpec {
  int64_t shuffleBuffer = 2048;  // rows that the first epoch draws from, while the others still come

  static DataSpec fromJson(const Json& json);
  Json toJson() const;
};

// Why all rows must be there before the first step; nothing: the first epoch takes them as they come.
std::optional<std::string> whyRowsLoadFirst(const TaskSpec& task);

}  // namespace bloomery::train
