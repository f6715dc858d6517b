// One Arrow column of whole or floating numbers of any width, read value by value as double. Borrows the array.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <type_traits>

#include "base/Error.h"

namespace bloomery::data {

bool isNumber(const arrow::DataType& type);

// Calls `function` with a value of the C++ type that stands for this Arrow type; isNumber(type) must hold.
template <typename Function>
auto withNumberType(const arrow::DataType& type, Function function) {
  switch (type.id()) {
    case arrow::Type::INT8:
      return function(int8_t{});
    case arrow::Type::UINT8:
      return function(uint8_t{});
    case arrow::Type::INT16:
      return function(int16_t{});
    case arrow::Type::UINT16:
      return function(uint16_t{});
    case arrow::Type::INT32:
      return function(int32_t{});
    case arrow::Type::UINT32:
      return function(uint32_t{});
    case arrow::Type::INT64:
      return function(int64_t{});
    case arrow::Type::UINT64:
      return function(uint64_t{});
    case arrow::Type::FLOAT:
      return function(float{});
    case arrow::Type::DOUBLE:
      return function(double{});
    default:
      throw InternalError(message("Not a number type: ", type.ToString()));
  }
}

class NumberColumn {
 public:
  explicit NumberColumn(const arrow::Array& array);

  int64_t length() const { return array_.length(); }
  bool isNull(int64_t row) const { return array_.IsNull(row); }
  bool hasNulls() const { return array_.null_count() > 0; }
  double value(int64_t row) const { return read_(values_, row); }
  const void* values() const { return values_; }  // the first value; the ones after it follow

 private:
  const arrow::Array& array_;
  const void* values_;
  double (*read_)(const void* values, int64_t row);
};

}  // namespace bloomery::data
