// How a worker keeps and walks its rows, as the task JSON says it in "data", and whether training can begin while they
// still come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/Json.h"
#include "data/SpillSpace.h"

namespace bloomery::train {

struct TaskSpec;

struct DataSpec {
  int64_t shuffleBuffer = 2048;        // rows that the first epoch draws from, while the others still come
  std::optional<int64_t> memory;       // bytes that rows take at most; then they go to disk
  std::vector<std::string> folders;    // on disk
  std::optional<CipherKey> key;        // with which they are encrypted there
  std::vector<int64_t> rowsOfWorkers;  // by rank, where they are known before they come; else empty
  bool unordered = false;              // rows may come in another order when they are read again

  static DataSpec fromJson(const Json& json);
  // nullptr: memory is not limited.
  std::unique_ptr<data::SpillSpace> makeSpace() const;
};

// Steps of an epoch, where they are known before the rows have come: told, or counted from the workers' rows, unless
// some of these are for validation.
std::optional<int64_t> knownStepsPerEpoch(const TaskSpec& task);

// Why all rows must be there before the first step; nothing: the first epoch takes them as they come.
std::optional<std::string> whyRowsLoadFirst(const TaskSpec& task);

// Rows that the first epoch draws from: one where rows keep their order.
int64_t shuffleBufferOf(const TaskSpec& task);

// With how many rows a worker makes its first step, where more are to come.
int64_t rowsOfFirstStep(const TaskSpec& task);

}  // namespace bloomery::train
