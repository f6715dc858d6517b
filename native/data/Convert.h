// Turns values of any element type into scaled floats: float(value) * scale, the same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/DType.h"

namespace bloomery::data {

// from: `count` values, aligned as their type wants; to: `count` floats elsewhere.
using ToFloat = void (*)(const std::byte* from, int64_t count, float scale, float* to);

// The quickest loop for this type on this processor.
ToFloat toFloat(DType type);

}  // namespace bloomery::data
