// What the driver asks before any job starts: shapes, parameter counts, FLOPs and the memory one worker will take.
#pragma once

#include <string>

namespace bloomery::train {

// From a task JSON; the result is JSON too: what network::describe tells, "memory", "training", "streams" (whether
// training begins while rows still come), "loadsFirst" (why it does not), "shuffleBuffer" (rows that the first epoch
// then draws from), and, when the task has a "memoryBudget", "largestBatchSize". A UserError when the task is wrong.
std::string describe(const std::string& task);

}  // namespace bloomery::train
