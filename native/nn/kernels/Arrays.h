// Element by element work on arrays of any layout, split over the OpenMP team when they are long.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// out = a + b, and zero where `relu` (the output of a ReLU, or null) is not above zero. `out` may be `a` or `b`.
void addArrays(const float* a, const float* b, const float* relu, int64_t size, float* out);

// out = max(a + b, 0) where `relu`, else a + b.
void addForward(const float* a, const float* b, bool relu, int64_t size, float* out);

// out = a * b.
void multiplyArrays(const float* a, const float* b, int64_t size, float* out);

void copyArray(const float* from, int64_t size, float* to);

}  // namespace bloomery::nn
