#include "data/arrow/CategoryRows.h"

#include <cstring>

#include "base/Error.h"
#include "data/LateValues.h"

namespace bloomery::data {

bool isCategory(const arrow::DataType& type) { return isText(type) || arrow::is_integer(type.id()); }

int64_t indexOf(const Categories& categories, std::string_view text, const RowPlace& place, const ColumnWords& words) {
  int64_t index = categories.indexOf(text);
  if (index >= 0) return index;
  throw UserError(message("Category out of vocabulary: '", text, "', vocabulary: ", categories.size(), " words, ",
                          place, words.wordAdvice));
}

std::string textOf(const NumberColumn& numbers, int64_t row) {
  return withNumberType(numbers.type(), [&](auto zero) {
    return std::to_string(static_cast<const decltype(zero)*>(numbers.values())[row]);
  });
}

CategoryRows::CategoryRows(const arrow::Array& array, const ColumnPart& part)
    : part_(part), lists_(array), write_(converter(*arrow::int64(), part.format.type)) {
  if (isText(*lists_.values().type())) {
    texts_.emplace(lists_.values());
    codes_.assign(static_cast<size_t>(texts_->numWords()), -1);
  } else {
    numbers_.emplace(lists_.values());
  }
}

int64_t CategoryRows::codeOf(std::string_view text, const RowPlace& place) const {
  return part_.rule.learnt != nullptr ? part_.rule.learnt->codeOf(text)
                                      : indexOf(*part_.categories, text, place, *part_.words);
}

// A word of a dictionary is looked up once.
int64_t CategoryRows::codeOfText(int64_t value, const RowPlace& place) const {
  if (codes_.empty()) return codeOf(texts_->text(value), place);
  int64_t& code = codes_[static_cast<size_t>(texts_->wordOf(value))];
  if (code < 0) code = codeOf(texts_->text(value), place);
  return code;
}

void CategoryRows::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  ListLevels::Range range = lists_.rangeOf(row, part_.format.shape, place);
  ColumnPart::Window window = part_.windowOf(range.length, place);
  if (window.count < part_.format.count) std::memset(to, 0, part_.format.bytes());
  for (int64_t i = 0; i < window.count; ++i) {
    int64_t value = range.begin + window.from + i, element = window.to + i;
    if (isNull(value)) {
      part_.writeNull(to, element, place);
      continue;
    }
    int64_t index = texts_ ? codeOfText(value, place) : codeOf(textOf(*numbers_, value), place);
    if (write_(&index, 1, to + static_cast<size_t>(element) * part_.valueBytes()) >= 0) {
      part_.failToFit(static_cast<double>(index), element, place);
    }
  }
}

}  // namespace bloomery::data
