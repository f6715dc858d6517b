// Turns numbers of Arrow's types into those of a RowStore. A float may round; a whole number may not change.
#pragma once

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>

#include "base/Error.h"
#include "tensor/DType.h"

namespace bloomery::data {

// Calls `function` with a value of the C++ type that stands for this type.
template <typename Function>
auto withDType(DType type, Function function) {
  switch (type) {
    case DType::kFloat32:
      return function(float{});
    case DType::kFloat64:
      return function(double{});
    case DType::kUint8:
      return function(uint8_t{});
    case DType::kInt8:
      return function(int8_t{});
    case DType::kInt16:
      return function(int16_t{});
    case DType::kInt32:
      return function(int32_t{});
    case DType::kInt64:
      return function(int64_t{});
  }
  throw InternalError(message("Unknown element type: ", static_cast<int>(type)));
}

// Copies `count` values and returns the index of the first that the wanted type cannot hold, or -1.
using ConvertValues = int64_t (*)(const void* from, int64_t count, std::byte* to);
// `from` must be the type of a NumberColumn.
ConvertValues converter(const arrow::DataType& from, DType to);

// The first value, from `begin` on, that is NaN or infinite, or -1.
int64_t findNotFinite(DType type, const std::byte* values, int64_t begin, int64_t count);

}  // namespace bloomery::data
