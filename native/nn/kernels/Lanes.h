// Eight floats side by side, for kernels whose loops the compiler does not turn into vector code by itself. Plain
// arithmetic on every level: one register with AVX2, two without.
#pragma once

#include <cstdint>
#include <cstring>

namespace bloomery::nn {

inline constexpr int64_t kLanes = 8;
using Lanes = float __attribute__((vector_size(32)));
using LaneBits = int32_t __attribute__((vector_size(32)));

// Macros, not functions: vectors do not pass from functions of one level to those of another.
#define BLOOMERY_LOAD(to, from) std::memcpy(&(to), (from), sizeof(Lanes))
#define BLOOMERY_STORE(from, to) std::memcpy((to), &(from), sizeof(Lanes))
// `value` where `sign` is above zero, else 0.
#define BLOOMERY_WHERE_POSITIVE(value, sign) ((Lanes)((LaneBits)(value) & ((sign) > 0.0f)))

}  // namespace bloomery::nn
