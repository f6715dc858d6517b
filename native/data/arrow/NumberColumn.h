// One Arrow column of numbers, or of what becomes one (boolean, decimal, date, timestamp), read value by value as
// double or in one piece as its plain type. Shares the array's memory where that holds plain numbers already.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/Error.h"

namespace bloomery::data {

bool isNumber(const arrow::DataType& type);       // whole, floating or decimal
bool becomesNumber(const arrow::DataType& type);  // a number, boolean, date or timestamp

// Calls `function` with a value of the C++ type that stands for this Arrow type, which must be that of a NumberColumn.
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
  // The array's type must become a number: booleans 0 and 1, decimals doubles, dates days and timestamps seconds since
  // the beginning of 1970.
  explicit NumberColumn(const arrow::Array& array);

  const arrow::DataType& type() const { return *plain_->type(); }  // of the plain numbers
  bool isNull(int64_t row) const { return plain_->IsNull(row); }
  bool hasNulls() const { return plain_->null_count() > 0; }
  double value(int64_t row) const { return read_(values_, row); }
  const void* values() const { return values_; }  // the first value; the ones after it follow

 private:
  std::shared_ptr<arrow::Array> plain_;
  const void* values_;
  double (*read_)(const void* values, int64_t row);
};

}  // namespace bloomery::data
