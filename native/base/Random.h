// Counter-based random numbers (Philox 4x32, 10 rounds): a value depends on its key and counter alone, never on how
// many were drawn before or on which thread, so that results do not depend on timing or on the number of workers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bloomery {

using RandomBlock = std::array<uint32_t, 4>;

// Four independent 32-bit values for one (key, counter).
RandomBlock philox(uint64_t key, uint64_t counterLow, uint64_t counterHigh);

// Mixes the parts of a key (seed, epoch, layer...) into one; every bit of every part matters.
uint64_t mixKey(uint64_t a, uint64_t b);
uint64_t mixKey(uint64_t a, std::string_view b);

// Uniform in [0, 1) with 24 bits, exactly representable.
inline float uniformFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace bloomery
