// Which rows of the gradient arena a step touched, for slices of which it touches few: the tables of Embeddings. The
// slices stay dense in memory; every row that is not marked is zero. Whoever writes to such a slice marks the rows
// before, and whoever clears, reduces or updates it goes over the marked ones alone. Borrows the arena; used by one
// thread at a time: compute, and comm while a slice is being reduced.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/Arena.h"

namespace bloomery {

// Of one slice, [rows, width].
class TouchedRows {
 public:
  explicit TouchedRows(const TensorView& table);  // which is zero

  int64_t numRows() const { return numRows_; }
  size_t width() const { return width_; }
  std::span<float> table() const { return table_; }
  std::span<float> row(int64_t index) const { return table_.subspan(static_cast<size_t>(index) * width_, width_); }

  void mark(int64_t row);
  void markAll();
  void mark(const TouchedRows& others);  // rows of a table of the same shape
  // Above a quarter of the rows, single ones are not worth telling apart: then all count as touched.
  bool all() const { return all_; }
  size_t limit() const { return limit_; }  // of rows that are told apart
  int64_t count() const { return all_ ? numRows_ : static_cast<int64_t>(marked_.size()); }
  // In ascending order; none when all are touched.
  std::span<const int32_t> rows();

  // Zeros in the marked rows; `clear` also forgets the marks.
  void zero();
  void clear();

  // Calls act(first, size) for the stretches of floats of marked rows that lie side by side, in ascending order.
  template <typename Act>
  void forStretches(Act act) {
    if (all_) return act(size_t{0}, table_.size());
    std::span<const int32_t> sorted = rows();
    for (size_t i = 0, end = 0; i < sorted.size(); i = end) {
      for (end = i + 1; end < sorted.size() && sorted[end] == sorted[end - 1] + 1;) ++end;
      act(static_cast<size_t>(sorted[i]) * width_, (end - i) * width_);
    }
  }

 private:
  void forget();

  std::span<float> table_;
  int64_t numRows_;
  size_t width_ = 0;
  size_t limit_ = 0;
  std::vector<uint64_t> bits_;   // one for each row
  std::vector<int32_t> marked_;  // the rows whose bit is set
  bool sorted_ = true;
  bool all_ = false;
};

// Of all slices of an arena.
class GradientRows {
 public:
  // slices: the ones whose rows are told apart, by index in the layout, ascending.
  GradientRows(const Arena& arena, const ArenaLayout& layout, const std::vector<size_t>& slices);

  // Null for slices that are written whole.
  TouchedRows* find(size_t sliceIndex) const {
    return sliceIndex < bySlice_.size() ? bySlice_[sliceIndex].get() : nullptr;
  }
  const std::vector<size_t>& slices() const { return slices_; }
  // The whole arena, whatever lies behind the last slice included, is zero afterwards.
  void clearArena();

 private:
  std::span<float> arena_;
  ArenaLayout layout_;
  std::vector<size_t> slices_;
  std::vector<std::unique_ptr<TouchedRows>> bySlice_;
};

}  // namespace bloomery
