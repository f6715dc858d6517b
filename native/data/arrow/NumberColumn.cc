#include "data/arrow/NumberColumn.h"

namespace bloomery::data {

bool isNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
}

NumberColumn::NumberColumn(const arrow::Array& array) : array_(array) {
  withNumberType(*array.type(), [&](auto zero) {
    using T = decltype(zero);
    values_ = array.data()->template GetValues<T>(1);
    read_ = [](const void* values, int64_t row) { return static_cast<double>(static_cast<const T*>(values)[row]); };
  });
}

}  // namespace bloomery::data
