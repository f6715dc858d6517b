// The gradient of a bias: sums over the rows of a matrix, always in the same order.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// sums[column] = sum of matrix[row][column]; matrix: [numRows, numColumns].
void columnSums(const float* matrix, int64_t numRows, int64_t numColumns, float* sums);

}  // namespace bloomery::nn
