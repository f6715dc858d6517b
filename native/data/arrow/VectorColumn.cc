#include "data/arrow/VectorColumn.h"

#include <cstring>
#include <vector>

#include "base/Error.h"

namespace bloomery::data {

namespace {

// Fields in the order in which Spark's user defined type writes them.
enum Part { kType, kSize, kIndices, kValues, kNumParts };
constexpr const char* kNames[] = {"type", "size", "indices", "values"};
constexpr int8_t kSparse = 0;

bool isListOf(const arrow::DataType& type, arrow::Type::type element) {
  return type.id() == arrow::Type::LIST && type.field(0)->type()->id() == element;
}

}  // namespace

bool isVector(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT || type.num_fields() != kNumParts) return false;
  for (int i = 0; i < kNumParts; ++i) {
    if (type.field(i)->name() != kNames[i]) return false;
  }
  return type.field(kType)->type()->id() == arrow::Type::INT8 &&
         type.field(kSize)->type()->id() == arrow::Type::INT32 &&
         isListOf(*type.field(kIndices)->type(), arrow::Type::INT32) &&
         isListOf(*type.field(kValues)->type(), arrow::Type::DOUBLE);
}

VectorRows::VectorRows(const arrow::Array& array, const ColumnPart& part)
    : part_(part), convert_(converter(*arrow::float64(), part.format.type)) {
  const auto& parts = static_cast<const arrow::StructArray&>(array);
  types_ = parts.field(kType);
  sizes_ = parts.field(kSize);
  indexLists_ = parts.field(kIndices);
  valueLists_ = parts.field(kValues);
  const auto& values = *static_cast<const arrow::ListArray&>(*valueLists_).values();
  const auto& indices = *static_cast<const arrow::ListArray&>(*indexLists_).values();
  values_ = static_cast<const arrow::DoubleArray&>(values).raw_values();
  indices_ = static_cast<const arrow::Int32Array&>(indices).raw_values();
}

void VectorRows::checkSize(int64_t size, const RowPlace& place) const {
  if (size == part_.format.count) return;
  throw UserError(message("Wrong size of vector: ", size, " values, wanted ", part_.format.count, " for shape ",
                          part_.shape(), ", ", place, "; give the Input another shape"));
}

void VectorRows::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  if (types_->IsNull(row) || valueLists_->IsNull(row)) throw UserError(message("Vector is not valid: ", place));
  if (static_cast<const arrow::Int8Array&>(*types_).Value(row) == kSparse) return copySparse(row, to, place);
  const auto& lists = static_cast<const arrow::ListArray&>(*valueLists_);
  checkSize(lists.value_length(row), place);
  const double* from = values_ + lists.value_offset(row);
  int64_t bad = convert_(from, part_.format.count, to);
  if (bad >= 0) part_.failToFit(from[bad], bad, place);
}

void VectorRows::copySparse(int64_t row, std::byte* to, const RowPlace& place) const {
  const auto& values = static_cast<const arrow::ListArray&>(*valueLists_);
  const auto& indices = static_cast<const arrow::ListArray&>(*indexLists_);
  int64_t length = values.value_length(row);
  bool valid = !sizes_->IsNull(row) && !indices.IsNull(row) && indices.value_length(row) == length;
  if (!valid) throw UserError(message("Vector is not valid: ", place));
  checkSize(static_cast<const arrow::Int32Array&>(*sizes_).Value(row), place);
  std::memset(to, 0, part_.format.bytes());
  const double* from = values_ + values.value_offset(row);
  const int32_t* at = indices_ + indices.value_offset(row);
  for (int64_t i = 0; i < length; ++i) {
    if (at[i] < 0 || at[i] >= part_.format.count) {
      throw UserError(message("Index out of a vector: ", at[i], ", size ", part_.format.count, ", ", place));
    }
    if (convert_(from + i, 1, to + static_cast<size_t>(at[i]) * part_.valueBytes()) >= 0) {
      part_.failToFit(from[i], at[i], place);
    }
  }
}

}  // namespace bloomery::data
