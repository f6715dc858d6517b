// What happens to reduced gradients before an optimizer sees them, and the average of the parameters afterwards: loops
// that give the same bits on every vector level and for any number of threads.
#pragma once

#include <span>

#include "base/Simd.h"
#include "optim/Sums.h"

namespace bloomery::optim {

void scale(SimdLevel level, std::span<float> values, float factor);
void clamp(SimdLevel level, std::span<float> values, float limit);  // into [-limit, limit]

// values: one slice, as for all below.
double sumOfSquares(SliceSums& sums, std::span<const float> values);
// first: sum of absolute values, second: sum of squares.
TwoSums sizeOf(SliceSums& sums, std::span<const float> parameters);
// Adds l1 * sign(parameter) + 2 * l2 * parameter to each gradient; returns sizeOf the parameters.
TwoSums regularise(SliceSums& sums, std::span<const float> parameters, std::span<float> gradients, float l1, float l2);

// Moves each average towards its parameter by the share `gain` of the way; an average that is there stays.
void moveAverage(SimdLevel level, std::span<float> averages, std::span<const float> parameters, float gain);

void addTo(SimdLevel level, std::span<float> sums, std::span<const float> values);

}  // namespace bloomery::optim
