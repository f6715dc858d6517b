#include "data/arrow/PlainLayout.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bloomery::data {

namespace {

// Row i lies from the i-th offset to the next.
template <typename OffsetOf>
arrow::Result<std::shared_ptr<arrow::Buffer>> plainOffsets(int64_t rows, OffsetOf offsetOf) {
  auto bytes = static_cast<int64_t>(sizeof(int32_t)) * (rows + 1);
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(bytes, arrow::system_memory_pool()));
  auto* offsets = reinterpret_cast<int32_t*>(buffer->mutable_data());
  for (int64_t row = 0; row <= rows; ++row) {
    int64_t offset = offsetOf(row);
    if (offset > std::numeric_limits<int32_t>::max()) return arrow::Status::Invalid("Too many values in one batch");
    offsets[row] = static_cast<int32_t>(offset);
  }
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

// Rows of the array begin at its first row here, as the offsets do.
arrow::Result<std::shared_ptr<arrow::Buffer>> validityOf(const arrow::Array& array) {
  if (array.null_count() == 0) return std::shared_ptr<arrow::Buffer>();
  arrow::TypedBufferBuilder<bool> bits(arrow::system_memory_pool());
  for (int64_t row = 0; row < array.length(); ++row) ARROW_RETURN_NOT_OK(bits.Append(array.IsValid(row)));
  return bits.Finish();
}

template <typename List>
arrow::Result<std::shared_ptr<arrow::Array>> plainList(const List& list) {
  ARROW_ASSIGN_OR_RAISE(auto offsets, plainOffsets(list.length(), [&](int64_t row) { return list.value_offset(row); }));
  ARROW_ASSIGN_OR_RAISE(auto validity, validityOf(list));
  return std::make_shared<arrow::ListArray>(plainType(list.type()), list.length(), offsets, list.values(), validity);
}

arrow::Result<std::shared_ptr<arrow::Array>> plainBinary(const arrow::Array& array,
                                                         const std::shared_ptr<arrow::Buffer>& bytes,
                                                         const std::shared_ptr<arrow::Buffer>& offsets) {
  ARROW_ASSIGN_OR_RAISE(auto validity, validityOf(array));
  return std::make_shared<arrow::BinaryArray>(array.length(), offsets, bytes, validity);
}

}  // namespace

std::shared_ptr<arrow::DataType> plainType(const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::list(type->field(0));
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::FIXED_SIZE_BINARY:
      return arrow::binary();
    default:
      return type;
  }
}

arrow::Result<std::shared_ptr<arrow::Array>> toPlain(const std::shared_ptr<arrow::Array>& array) {
  switch (array->type_id()) {
    case arrow::Type::LARGE_LIST:
      return plainList(static_cast<const arrow::LargeListArray&>(*array));
    case arrow::Type::FIXED_SIZE_LIST:
      return plainList(static_cast<const arrow::FixedSizeListArray&>(*array));
    case arrow::Type::LARGE_BINARY: {
      const auto& binary = static_cast<const arrow::LargeBinaryArray&>(*array);
      ARROW_ASSIGN_OR_RAISE(auto offsets,
                            plainOffsets(array->length(), [&](int64_t row) { return binary.value_offset(row); }));
      return plainBinary(*array, binary.value_data(), offsets);
    }
    case arrow::Type::FIXED_SIZE_BINARY: {
      const auto& binary = static_cast<const arrow::FixedSizeBinaryArray&>(*array);
      ARROW_ASSIGN_OR_RAISE(auto offsets, plainOffsets(array->length(), [&](int64_t row) {
                              return (array->offset() + row) * binary.byte_width();
                            }));
      return plainBinary(*array, array->data()->buffers[1], offsets);
    }
    default:
      return array;
  }
}

bool sameLayout(const arrow::DataType& a, const arrow::DataType& b) {
  if (a.id() != b.id() || a.num_fields() != b.num_fields()) return false;
  if (a.num_fields() == 0) return a.Equals(b);
  if (a.id() == arrow::Type::FIXED_SIZE_LIST) {
    auto length = [](const arrow::DataType& type) {
      return static_cast<const arrow::FixedSizeListType&>(type).list_size();
    };
    if (length(a) != length(b)) return false;
  }
  for (int i = 0; i < a.num_fields(); ++i) {
    if (!sameLayout(*a.field(i)->type(), *b.field(i)->type())) return false;
  }
  return true;
}

}  // namespace bloomery::data
