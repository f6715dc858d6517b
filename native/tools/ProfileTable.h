// The profile of training steps as a table: milliseconds a step, speed and share of each layer, and of what is no
// layer.
#pragma once

#include <cstdint>
#include <string>

#include "train/StepProfile.h"

namespace bloomery::tools {

// Layers that took no time of their own, because others did their work, are left out. GFLOP/s and GB/s are those of
// full batches and of the work that a layer cannot do without (nn/Profile.h), over forward and backward together.
std::string profileTable(const train::StepProfile& profile, int64_t batchSize);

}  // namespace bloomery::tools
