#include "nn/kernels/ColumnSums.h"

#include <algorithm>

namespace bloomery::nn {

void columnSums(const float* matrix, int64_t numRows, int64_t numColumns, float* sums) {
  constexpr int64_t kStrip = 256;  // columns of one strip stay in the first cache
  constexpr int64_t kWorthThreads = 1 << 18;
#pragma omp parallel for schedule(static) if (numRows * numColumns > kWorthThreads)
  for (int64_t first = 0; first < numColumns; first += kStrip) {
    int64_t end = std::min(first + kStrip, numColumns);
    std::fill(sums + first, sums + end, 0.0f);
    for (int64_t row = 0; row < numRows; ++row) {
      const float* values = matrix + row * numColumns;
      for (int64_t column = first; column < end; ++column) sums[column] += values[column];
    }
  }
}

}  // namespace bloomery::nn
