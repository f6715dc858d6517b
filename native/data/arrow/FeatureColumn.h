// A column of features, or of targets that are values, of one record batch, whatever its type: finds the reader of its
// kind, and keeps the rules that all kinds share. Copies rows into the part of an input that the column fills. Borrows
// the array and the part.
#pragma once

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/arrow/ColumnPart.h"

namespace bloomery::data {

class FeatureColumn {
 public:
  // Values of a row as the column's type or its rule has them, 0 when only the rows tell.
  static int64_t sizeOf(const arrow::DataType& type, const InputColumn& rule, DType wanted);
  // UserError when no value of this field can be a row of this part.
  static void checkField(const arrow::Field& field, const ColumnPart& part);

  // The array's field must have passed checkField.
  FeatureColumn(const arrow::Array& array, const ColumnPart& part);

  // Writes the row's values; UserError, naming the place, when they are null, of a wrong length, do not fit, are not
  // finite or are no index below the format's limit, and no rule allows it.
  void copy(int64_t row, std::byte* to, const RowPlace& place) const;
  // The same of rows that follow each other, each `stride` bytes behind the one before; `first` is the first one's
  // place.
  void copy(int64_t row, int64_t count, std::byte* to, size_t stride, const RowPlace& first) const;

 private:
  bool areWhole(int64_t row, int64_t count) const;
  bool copyWhole(int64_t row, int64_t count, std::byte* to, size_t stride) const;
  bool areLookedAt() const;
  bool areGood(const std::byte* values, int64_t count) const;
  [[noreturn]] void throwNotFinite(const std::byte* value, int64_t element, const RowPlace& place) const;
  void checkFinite(const std::byte* values, const RowPlace& place) const;
  bool isIndex(double value) const;
  void checkIndex(const std::byte* value, int64_t element, const RowPlace& place) const;
  bool hasIndices() const { return part_.format.indexLimit > 0 && part_.rule.learnt == nullptr; }

  const arrow::Array& array_;
  const ColumnPart& part_;
  const arrow::DictionaryArray* encoded_ = nullptr;  // its values are in `values_`
  std::shared_ptr<arrow::Array> dictionary_;
  const arrow::Array* values_;
  std::unique_ptr<ColumnRows> reader_;
};

}  // namespace bloomery::data
