// Our kernels are compiled for several levels and choose here, once per call; whatever the ranks must agree on gives
// the same bits on every level.
#pragma once

#include "base/Instructions.h"

namespace bloomery {

enum class SimdLevel { kBaseline, kAvx2 };

inline SimdLevel simdLevel() {
  return instructions().level() >= Instructions::kAvx2 ? SimdLevel::kAvx2 : SimdLevel::kBaseline;
}

// For the few kernels that gain from it; no level of its own, so that nothing else is compiled once more.
inline bool usesAvx512() { return instructions().level() == Instructions::kAvx512; }

}  // namespace bloomery
