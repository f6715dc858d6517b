// The column of one output's targets in one record batch: class indices or values, as the output's rule and the
// column's type have it. Copies rows into a RowStore. Borrows the array and the rule.
#pragma once

#include <memory>
#include <optional>

#include "data/RowStore.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/FeatureColumn.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/TextColumn.h"

namespace bloomery::data {

class TargetColumn {
 public:
  // Whether this field holds class indices; UserError when its type fits neither them nor values.
  static bool isClass(const arrow::Field& field, const TargetRule& rule);

  // categories: of the rule's vocabulary, or null. offset: the first value of the target that is filled.
  TargetColumn(const arrow::Array& array, const TargetRule& rule, bool isClass, const Categories* categories,
               int64_t offset = 0);
  TargetColumn(const TargetColumn&) = delete;
  TargetColumn& operator=(const TargetColumn&) = delete;

  // Writes the target of the store's row; UserError, naming the place, when it is null, no class, not finite or no
  // probability where one is wanted.
  void copy(int64_t row, RowStore& store, int64_t storeRow, size_t target, const RowPlace& place) const;
  // The same of rows that follow each other, also in one chunk of the store; `first` is the first one's place.
  void copy(int64_t row, int64_t count, RowStore& store, int64_t storeRow, size_t target, const RowPlace& first) const;

 private:
  bool copyClasses(int64_t row, int64_t count, int32_t* to) const;
  static ColumnPart partOf(const TargetRule& rule, const std::string& column);
  double classOf(int64_t row, const RowPlace& place) const;
  void checkValues(const float* values, const RowPlace& place) const;

  const TargetRule& rule_;
  const Categories* categories_;
  int64_t offset_;
  ColumnPart part_;
  std::optional<NumberColumn> numbers_;
  std::optional<TextColumn> texts_;
  std::optional<FeatureColumn> values_;
};

}  // namespace bloomery::data
