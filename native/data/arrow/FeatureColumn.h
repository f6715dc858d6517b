// The features column of one record batch: a binary, an array of numbers or, for rows of one feature, a number.
// Copies a row at a time into the type that the network's Input declares. Borrows the array.
#pragma once

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/RowStore.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/RowPlace.h"

namespace bloomery::data {

class FeatureColumn {
 public:
  // UserError when no value of this field can be a row of this format.
  static void checkField(const arrow::Field& field, const RowFormat& format);

  // The array's field must have passed checkField.
  FeatureColumn(const arrow::Array& array, const RowFormat& format);

  // Writes the row's features; UserError, naming the place, when they are null, of a wrong length or do not fit.
  void copy(int64_t row, std::byte* to, const RowPlace& place) const;

 private:
  // Copies `count` values and returns the index of the first that the wanted type cannot hold, or -1.
  using Convert = int64_t (*)(const void* from, int64_t count, std::byte* to);
  static Convert converter(const arrow::DataType& from, DType to);

  struct Range {
    int64_t begin;
    int64_t length;
  };
  Range rangeOf(int64_t row) const;
  void copyBytes(Range range, std::byte* to, const RowPlace& place) const;
  void copyNumbers(Range range, std::byte* to, const RowPlace& place) const;

  const arrow::Array& array_;
  const RowFormat& format_;
  // Where a row's values begin: at one of these offsets, or at a multiple of the fixed length.
  const int32_t* offsets_ = nullptr;
  const int64_t* largeOffsets_ = nullptr;
  int64_t fixedLength_ = 1;
  const std::byte* bytes_ = nullptr;     // of a binary column
  std::optional<NumberColumn> numbers_;  // of any other
  size_t numberBytes_ = 0;
  Convert convert_ = nullptr;
};

}  // namespace bloomery::data
