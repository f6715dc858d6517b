// The profile of a plan as a table: milliseconds a step, speed and share of each layer.
#pragma once

#include <cstdint>
#include <string>

#include "nn/Profile.h"

namespace bloomery::tools {

// Layers that took no time of their own, because others did their work, are left out.
std::string profileTable(const nn::Profile& profile, int64_t batchSize);

}  // namespace bloomery::tools
