// Which vector instructions this machine has. Our kernels are compiled for several levels and choose here, once per
// call; whatever the ranks must agree on gives the same bits on every level.
#pragma once

namespace bloomery {

enum class SimdLevel { kBaseline, kAvx2 };

inline SimdLevel simdLevel() { return __builtin_cpu_supports("avx2") ? SimdLevel::kAvx2 : SimdLevel::kBaseline; }

}  // namespace bloomery
