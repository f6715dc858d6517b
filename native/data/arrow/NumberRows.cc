#include "data/arrow/NumberRows.h"

#include <cstring>

namespace bloomery::data {

NumberRows::NumberRows(const arrow::Array& array, const ColumnPart& part)
    : part_(part),
      lists_(array),
      numbers_(lists_.values()),
      numberBytes_(withNumberType(numbers_.type(), [](auto zero) { return sizeof(zero); })),
      convert_(converter(numbers_.type(), part.format.type)) {}

void NumberRows::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  ListLevels::Range range = lists_.rangeOf(row, part_.format.shape, place);
  ColumnPart::Window window = part_.windowOf(range.length, place);
  if (window.count < part_.format.count) std::memset(to, 0, part_.format.bytes());
  int64_t first = range.begin + window.from;
  const std::byte* from = at(first);
  std::byte* begin = to + static_cast<size_t>(window.to) * part_.valueBytes();
  if (!numbers_.hasNulls()) {
    int64_t bad = convert_(from, window.count, begin);
    if (bad >= 0) part_.failToFit(numbers_.value(first + bad), window.to + bad, place);
    return;
  }
  for (int64_t i = 0; i < window.count; ++i) {
    if (numbers_.isNull(first + i)) {
      part_.writeNull(to, window.to + i, place);
    } else if (convert_(from + static_cast<size_t>(i) * numberBytes_, 1,
                        begin + static_cast<size_t>(i) * part_.valueBytes()) >= 0) {
      part_.failToFit(numbers_.value(first + i), window.to + i, place);
    }
  }
}

bool NumberRows::areWhole(int64_t row, int64_t count) const {
  return !numbers_.hasNulls() && lists_.areOf(part_.format.count, row, count);
}

bool NumberRows::copyWhole(int64_t row, int64_t count, std::byte* to) const {
  return convert_(at(lists_.beginOf(row)), count * part_.format.count, to) < 0;
}

const std::byte* NumberRows::at(int64_t value) const {
  return static_cast<const std::byte*>(numbers_.values()) + static_cast<size_t>(value) * numberBytes_;
}

}  // namespace bloomery::data
