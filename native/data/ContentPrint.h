// A number by which rows are known again by what they hold: a hash of each, added up, so that neither their order nor
// their ids count, nor how many workers share them, nor the way they came. Of a wide row it takes a few words, some of
// them elsewhere in every row, so that it costs next to nothing: another value in many rows is noticed, another pixel
// of one image need not be. Checkpoints hold it: a hash of another kind needs another name there. For the thread that
// fills the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloomery::data {

class ContentPrint {
 public:
  // Bytes of a row's part of a column.
  struct Range {
    size_t first, end;
  };

  // A column of the chunks that rows lie in begins at `offset`, and its rows are `stride` bytes apart; only what lies
  // in the ranges counts.
  void addColumn(size_t offset, size_t stride, const std::vector<Range>& ranges);
  void clearColumns();
  bool hasColumns() const { return !columns_.empty(); }

  // The row with this index in its chunk is filled.
  void add(const std::byte* chunk, size_t index) { sum_ += hashOf(chunk, index); }
  void clear() { sum_ = 0; }
  uint64_t sum() const { return sum_; }

 private:
  // Words of a column that have as many bytes, eight or fewer.
  struct Column {
    size_t offset, stride, bytes;
    size_t firstPlace, numPlaces;
  };

  uint64_t hashOf(const std::byte* chunk, size_t index) const;

  std::vector<Column> columns_;
  std::vector<size_t> places_;  // where words begin in a row's part of their column
  uint64_t sum_ = 0;
};

}  // namespace bloomery::data
