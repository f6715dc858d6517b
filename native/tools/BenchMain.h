// What the mains of the benchmarks' programs have in common: --help tells the usage, and a failure is one sentence on
// standard error and a status of 1.
#pragma once

#include <functional>

namespace bloomery::tools {

// What main returns.
int benchMain(int count, char** words, const char* usage, const std::function<void()>& run);

}  // namespace bloomery::tools
