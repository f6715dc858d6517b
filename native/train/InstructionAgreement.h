// Workers tell each other with their addresses which instructions they have; all compute with what the least of them
// has, so that what is computed does not depend on which of them does it.
#pragma once

#include <string>
#include <vector>

#include "base/Log.h"

namespace bloomery::train {

// An address with the level of this process.
std::string withInstructions(const std::string& address);

// What workers told, by rank, as addresses again. Lowers this process to the least of their levels, if it can, and
// warns where processors differ. Before the first plan that depends on it.
std::vector<std::string> agreeOnInstructions(const std::vector<std::string>& told, int rank, Log& log);

}  // namespace bloomery::train
