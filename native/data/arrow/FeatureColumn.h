// A column of features, or of targets that are values, of one record batch: a binary, an array of numbers or, for rows
// of one value, a number. Copies a row at a time into the type that the network's Input declares. Borrows the array.
#pragma once

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/RowFormat.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/RowPlace.h"

namespace bloomery::data {

// How messages speak of a column's values.
struct ColumnWords {
  const char* column;   // "features"
  const char* areNull;  // "Features are null"
  const char* element;  // "Feature"
  const char* wanted;   // of the column's type
  const char* advice;   // for a value that does not fit
};
extern const ColumnWords kFeatureWords;
extern const ColumnWords kTargetWords;

class FeatureColumn {
 public:
  // UserError when no value of this field can be a row of this format.
  static void checkField(const arrow::Field& field, const FeatureFormat& format, const ColumnWords& words);

  // The array's field must have passed checkField. Array, format and words are borrowed.
  FeatureColumn(const arrow::Array& array, const FeatureFormat& format, const ColumnWords& words);

  // Writes the row's values; UserError, naming the place, when they are null, of a wrong length, do not fit or are no
  // index below the format's limit.
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
  void checkIndices(const std::byte* values, const RowPlace& place) const;

  const arrow::Array& array_;
  const FeatureFormat& format_;
  const ColumnWords& words_;
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
