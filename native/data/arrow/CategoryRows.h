// Rows of texts or whole numbers, one a row or arrays of them, that become indices.
#pragma once

#include <optional>
#include <vector>

#include "data/arrow/ColumnPart.h"
#include "data/arrow/ListLevels.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/TextColumn.h"
#include "data/arrow/ValueConvert.h"

namespace bloomery::data {

class CategoryRows final : public ColumnRows {
 public:
  CategoryRows(const arrow::Array& array, const ColumnPart& part);
  void copy(int64_t row, std::byte* to, const RowPlace& place) const override;

 private:
  // Its index, or what stands for it till its vocabulary is learnt.
  int64_t codeOf(std::string_view text, const RowPlace& place) const;
  int64_t codeOfText(int64_t value, const RowPlace& place) const;
  bool isNull(int64_t value) const { return texts_ ? texts_->isNull(value) : numbers_->isNull(value); }

  const ColumnPart& part_;
  ListLevels lists_;
  std::optional<TextColumn> texts_;
  std::optional<NumberColumn> numbers_;
  ConvertValues write_;                 // of an index
  mutable std::vector<int64_t> codes_;  // of the words of a dictionary, those that came up; else -1
};

// Texts and whole numbers can be categories.
bool isCategory(const arrow::DataType& type);

// The index of a category; UserError, naming the place, when it is not in the vocabulary and the rule has none for it.
int64_t indexOf(const Categories& categories, std::string_view text, const RowPlace& place, const ColumnWords& words);
// The text that stands for a whole number.
std::string textOf(const NumberColumn& numbers, int64_t row);

}  // namespace bloomery::data
