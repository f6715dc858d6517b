#include "nn/MemoryPlan.h"

#include <algorithm>
#include <numeric>

namespace bloomery::nn {

namespace {

constexpr size_t kAlignment = 64;
size_t roundedUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlap(const BufferLife& a, const BufferLife& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

// Largest first, each at the lowest place that is free during its life.
MemoryPlan planMemory(const std::vector<BufferLife>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });

  MemoryPlan plan{std::vector<size_t>(buffers.size(), 0), 0};
  std::vector<size_t> placed;  // by offset
  for (size_t index : order) {
    size_t offset = 0;
    for (size_t other : placed) {
      if (!overlap(buffers[index], buffers[other])) continue;
      if (offset + buffers[index].bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + roundedUp(buffers[other].bytes));
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + roundedUp(buffers[index].bytes));
    auto after = std::upper_bound(placed.begin(), placed.end(), offset,
                                  [&](size_t value, size_t other) { return value < plan.offsets[other]; });
    placed.insert(after, index);
  }
  return plan;
}

}  // namespace bloomery::nn
