#include "data/arrow/BinaryRows.h"

#include <cstring>

#include "base/Error.h"

namespace bloomery::data {

bool isBinary(const arrow::DataType& type) {
  return type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY ||
         type.id() == arrow::Type::FIXED_SIZE_BINARY;
}

BinaryRows::BinaryRows(const arrow::Array& array, const ColumnPart& part) : part_(part) {
  if (array.type_id() == arrow::Type::BINARY) {
    const auto& binary = static_cast<const arrow::BinaryArray&>(array);
    offsets_ = binary.raw_value_offsets();
    bytes_ = binary.raw_data();
  } else if (array.type_id() == arrow::Type::LARGE_BINARY) {
    const auto& binary = static_cast<const arrow::LargeBinaryArray&>(array);
    largeOffsets_ = binary.raw_value_offsets();
    bytes_ = binary.raw_data();
  } else {
    const auto& binary = static_cast<const arrow::FixedSizeBinaryArray&>(array);
    fixedLength_ = binary.byte_width();
    bytes_ = binary.raw_values();  // those of a slice begin at its first row
  }
}

int64_t BinaryRows::beginOf(int64_t row) const {
  if (offsets_ != nullptr) return offsets_[row];
  return largeOffsets_ != nullptr ? largeOffsets_[row] : row * fixedLength_;
}

bool BinaryRows::areWhole(int64_t row, int64_t count) const {
  auto wanted = static_cast<int64_t>(part_.format.bytes());
  bool all = true;
  for (int64_t i = row; i < row + count; ++i) all &= beginOf(i + 1) - beginOf(i) == wanted;
  return all;
}

bool BinaryRows::copyWhole(int64_t row, int64_t count, std::byte* to) const {
  std::memcpy(to, bytes_ + beginOf(row), static_cast<size_t>(count) * part_.format.bytes());
  return true;
}

void BinaryRows::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  int64_t begin = beginOf(row), length = beginOf(row + 1) - begin;
  size_t wanted = part_.format.bytes();
  if (length != static_cast<int64_t>(wanted)) {
    throw UserError(message("Wrong length of binary value: ", length, " bytes, wanted ", wanted, " for shape ",
                            part_.shape(), " of ", nameOf(part_.format.type), ", ", place));
  }
  std::memcpy(to, bytes_ + begin, wanted);
}

}  // namespace bloomery::data
