// The rows and nulls of an Arrow array with values of another type, made one by one from those that it has.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "base/Error.h"

namespace bloomery::data {

// `read` gives the value at a place of the array's buffer of values; it is asked for nulls, too.
template <typename T, typename Read>
std::shared_ptr<arrow::Array> remade(const arrow::Array& array, std::shared_ptr<arrow::DataType> type, Read read) {
  const arrow::ArrayData& from = *array.data();
  int64_t end = from.offset + from.length;
  auto values = arrow::AllocateBuffer(end * static_cast<int64_t>(sizeof(T)), arrow::system_memory_pool());
  if (!values.ok()) throw ResourceError(message("Out of memory for a column: ", values.status().message()));
  std::shared_ptr<arrow::Buffer> buffer = std::move(values).ValueUnsafe();
  T* to = reinterpret_cast<T*>(buffer->mutable_data());
  const uint8_t* source = from.buffers[1] == nullptr ? nullptr : from.buffers[1]->data();
  for (int64_t i = from.offset; i < end; ++i) to[i] = read(source, i);
  return arrow::MakeArray(arrow::ArrayData::Make(std::move(type), from.length, {from.buffers[0], std::move(buffer)},
                                                 from.null_count, from.offset));
}

// The same memory under another type.
inline std::shared_ptr<arrow::Array> seenAs(const arrow::Array& array, std::shared_ptr<arrow::DataType> type) {
  auto data = array.data()->Copy();
  data->type = std::move(type);
  return arrow::MakeArray(data);
}

// The value at a place of a buffer.
template <typename T>
T valueAt(const uint8_t* source, int64_t i) {
  T value;
  std::memcpy(&value, source + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace bloomery::data
