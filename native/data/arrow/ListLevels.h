// Lists inside lists, down to their values: where a row's values begin and how many they are. Lists of any kind and
// depth; a column without lists has one value a row. Borrows the array.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "data/arrow/RowPlace.h"
#include "tensor/Shape.h"

namespace bloomery::data {

bool isList(const arrow::DataType& type);
// The type of the values inside all lists, and how many lists are around them.
const arrow::DataType& valueTypeOf(const arrow::DataType& type);
int listDepthOf(const arrow::DataType& type);
// Values of a row where the type fixes them, 0 where only the row tells.
int64_t fixedLengthOf(const arrow::DataType& type);

class ListLevels {
 public:
  explicit ListLevels(const arrow::Array& array);

  const arrow::Array& values() const { return *values_; }
  size_t depth() const { return levels_.size(); }

  struct Range {
    int64_t begin;
    int64_t length;
  };
  // Of the row's values. UserError, naming the place, when lists inside are null or differ in length: from each other,
  // and from the shape's extents where there are as many lists as extents.
  Range rangeOf(int64_t row, const Shape& shape, const RowPlace& place) const;
  // Whether each of these rows, none of which is null, has so many values and there are no lists inside its list.
  bool areOf(int64_t length, int64_t row, int64_t count) const;
  // The first value of a row without lists inside its list.
  int64_t beginOf(int64_t row) const { return levels_.empty() ? row : levels_[0].beginOf(row); }

 private:
  struct Level {
    const arrow::Array* array;
    // Where a list begins: at one of these offsets, or at a multiple of the fixed length.
    const int32_t* offsets = nullptr;
    const int64_t* largeOffsets = nullptr;
    int64_t fixedLength = 0;

    int64_t beginOf(int64_t list) const {
      if (offsets != nullptr) return offsets[list];
      return largeOffsets != nullptr ? largeOffsets[list] : (array->offset() + list) * fixedLength;
    }
  };
  void checkLists(size_t level, int64_t begin, int64_t end, const Shape& shape, const RowPlace& place) const;

  std::vector<std::shared_ptr<arrow::Array>> held_;
  std::vector<Level> levels_;
  const arrow::Array* values_;
};

}  // namespace bloomery::data
