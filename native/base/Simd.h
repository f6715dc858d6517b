// Which vector instructions this machine has. Our kernels are compiled for several levels and choose here, once per
// call; whatever the ranks must agree on gives the same bits on every level.
#pragma once

namespace bloomery {

enum class SimdLevel { kBaseline, kAvx2 };  // kAvx2: with FMA and F16C, which every processor with AVX2 has

inline SimdLevel simdLevel() {
  bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return has ? SimdLevel::kAvx2 : SimdLevel::kBaseline;
}

// For the few kernels that gain from it; no level of its own, so that nothing else is compiled once more.
inline bool hasAvx512() { return __builtin_cpu_supports("avx512f"); }

}  // namespace bloomery
