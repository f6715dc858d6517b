#include "data/arrow/VectorColumn.h"

#include <algorithm>
#include <vector>

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

std::shared_ptr<arrow::DataType> vectorArrayType() { return arrow::list(arrow::float32()); }

arrow::Result<std::shared_ptr<arrow::Array>> vectorsToArrays(const arrow::Array& vectors) {
  const auto& parts = static_cast<const arrow::StructArray&>(vectors);
  auto part = [&](Part which) { return parts.field(which); };
  auto types = part(kType), sizes = part(kSize), indexLists = part(kIndices), valueLists = part(kValues);
  const auto& indices = static_cast<const arrow::ListArray&>(*indexLists);
  const auto& values = static_cast<const arrow::ListArray&>(*valueLists);
  const int32_t* index = static_cast<const arrow::Int32Array&>(*indices.values()).raw_values();
  const double* value = static_cast<const arrow::DoubleArray&>(*values.values()).raw_values();
  auto elements = std::make_shared<arrow::FloatBuilder>(arrow::system_memory_pool());
  arrow::ListBuilder arrays(arrow::system_memory_pool(), elements, vectorArrayType());
  std::vector<float> dense;
  for (int64_t row = 0; row < vectors.length(); ++row) {
    if (vectors.IsNull(row)) {
      ARROW_RETURN_NOT_OK(arrays.AppendNull());
      continue;
    }
    auto invalid = [&] { return arrow::Status::Invalid("ML vector is not valid, row ", row, " of its batch"); };
    if (types->IsNull(row) || values.IsNull(row)) return invalid();
    int64_t first = values.value_offset(row), length = values.value_length(row);
    if (static_cast<const arrow::Int8Array&>(*types).Value(row) == kSparse) {
      if (sizes->IsNull(row) || indices.IsNull(row) || indices.value_length(row) != length) return invalid();
      int32_t size = static_cast<const arrow::Int32Array&>(*sizes).Value(row);
      if (size < length) return invalid();
      dense.assign(static_cast<size_t>(size), 0.0f);
      for (int64_t i = 0; i < length; ++i) {
        int32_t at = index[indices.value_offset(row) + i];
        if (at < 0 || at >= size) return invalid();
        dense[static_cast<size_t>(at)] = static_cast<float>(value[first + i]);
      }
    } else {
      dense.assign(value + first, value + first + length);
    }
    ARROW_RETURN_NOT_OK(arrays.Append());
    ARROW_RETURN_NOT_OK(elements->AppendValues(dense));
  }
  return arrays.Finish();
}

}  // namespace bloomery::data
