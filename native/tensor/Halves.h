// Floats of 16 bits, for what travels between workers and nothing else: IEEE's binary16 (fp16: 11 bits of precision, up
// to 65504) and bfloat16 (bf16: 8 bits, the range of a float). All roundings are to the nearest, ties to even, and give
// the same bits on every vector level.
#pragma once

#include <cstdint>
#include <span>

#include "base/Simd.h"

namespace bloomery {

enum class HalfFormat { kFp16, kBf16 };

// to[i] = from[i] * scale.
void toHalves(HalfFormat format, SimdLevel level, std::span<const float> from, float scale, std::span<uint16_t> to);
void fromHalves(HalfFormat format, SimdLevel level, std::span<const uint16_t> from, float scale, std::span<float> to);

// sums[i] = a[i] + b[i], added as floats; `sums` may be either.
void addHalves(HalfFormat format, SimdLevel level, const uint16_t* a, const uint16_t* b, size_t size, uint16_t* sums);

// No infinity, nothing that is not a number.
bool allFinite(HalfFormat format, std::span<const uint16_t> values);

}  // namespace bloomery
