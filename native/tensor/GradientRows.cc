#include "tensor/GradientRows.h"

#include <algorithm>
#include <limits>

#include "base/Error.h"

namespace bloomery {

namespace {

constexpr int64_t kBits = 64;

uint64_t bitOf(int64_t row) { return uint64_t{1} << (row % kBits); }

}  // namespace

TouchedRows::TouchedRows(const TensorView& table) : table_(table.span()), numRows_(table.shape[0]) {
  check(table.shape.rank() == 2 && numRows_ > 0 && numRows_ <= std::numeric_limits<int32_t>::max(),
        "Not a table: ", table.shape.toString());
  width_ = table_.size() / static_cast<size_t>(numRows_);
  limit_ = std::max<size_t>(1, static_cast<size_t>(numRows_ / 4));
  bits_.resize(static_cast<size_t>((numRows_ + kBits - 1) / kBits));
  marked_.reserve(limit_);
}

void TouchedRows::mark(int64_t row) {
  uint64_t& bits = bits_[static_cast<size_t>(row / kBits)];
  if (all_ || (bits & bitOf(row)) != 0) return;
  if (marked_.size() == limit_) return markAll();
  bits |= bitOf(row);
  sorted_ = sorted_ && (marked_.empty() || marked_.back() < row);
  marked_.push_back(static_cast<int32_t>(row));
}

void TouchedRows::markAll() {
  forget();
  all_ = true;
}

void TouchedRows::mark(const TouchedRows& others) {
  if (others.all_) markAll();
  for (int32_t row : others.marked_) mark(row);
}

std::span<const int32_t> TouchedRows::rows() {
  if (!sorted_) std::ranges::sort(marked_);
  sorted_ = true;
  return marked_;
}

void TouchedRows::zero() {
  forStretches([&](size_t first, size_t size) { std::ranges::fill(table_.subspan(first, size), 0.0f); });
}

void TouchedRows::clear() {
  zero();
  forget();
}

void TouchedRows::forget() {
  for (int32_t row : marked_) bits_[static_cast<size_t>(row / kBits)] = 0;
  marked_.clear();
  sorted_ = true;
  all_ = false;
}

GradientRows::GradientRows(const Arena& arena, const ArenaLayout& layout, const std::vector<size_t>& slices)
    : arena_(arena.all()), layout_(layout), slices_(slices), bySlice_(layout.slices().size()) {
  check(std::ranges::is_sorted(slices), "Slices are not in their order");
  for (size_t slice : slices) bySlice_[slice] = std::make_unique<TouchedRows>(arena.view(layout.slices()[slice]));
}

void GradientRows::clearArena() {
  size_t done = 0;
  for (size_t slice : slices_) {
    size_t first = layout_.slices()[slice].offset;
    std::ranges::fill(arena_.subspan(done, first - done), 0.0f);
    bySlice_[slice]->clear();
    done = first + layout_.slices()[slice].size;
  }
  std::ranges::fill(arena_.subspan(done), 0.0f);
}

}  // namespace bloomery
