#include "data/arrow/PlainLayout.h"

#include <arrow/util/bit_util.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/arrow/DecimalColumn.h"
#include "data/arrow/ListLevels.h"
#include "data/arrow/RemadeArray.h"
#include "data/arrow/TextColumn.h"

namespace bloomery::data {

namespace {

using ArrayResult = arrow::Result<std::shared_ptr<arrow::Array>>;

constexpr int64_t kMicrosOfMilli = 1000;

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

// The array with other arrays inside; rows, nulls and offsets stay.
std::shared_ptr<arrow::Array> withChildren(const arrow::Array& array, const std::shared_ptr<arrow::DataType>& type,
                                           std::vector<std::shared_ptr<arrow::ArrayData>> children) {
  auto data = array.data()->Copy();
  data->type = type;
  data->child_data = std::move(children);
  return arrow::MakeArray(data);
}

template <typename List>
ArrayResult plainList(const List& list, const std::shared_ptr<arrow::DataType>& wanted) {
  ARROW_ASSIGN_OR_RAISE(auto values, become(list.values(), wanted->field(0)->type()));
  if (list.type_id() == arrow::Type::LIST) return withChildren(list, wanted, {values->data()});
  ARROW_ASSIGN_OR_RAISE(auto offsets, plainOffsets(list.length(), [&](int64_t row) { return list.value_offset(row); }));
  ARROW_ASSIGN_OR_RAISE(auto validity, validityOf(list));
  return std::make_shared<arrow::ListArray>(wanted, list.length(), offsets, values, validity);
}

// Fields are found by their names.
ArrayResult plainStruct(const arrow::Array& array, const std::shared_ptr<arrow::DataType>& wanted) {
  const auto& type = static_cast<const arrow::StructType&>(*array.type());
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (const auto& field : wanted->fields()) {
    auto index = static_cast<size_t>(type.GetFieldIndex(field->name()));
    ARROW_ASSIGN_OR_RAISE(auto child, become(arrow::MakeArray(array.data()->child_data[index]), field->type()));
    children.push_back(child->data());
  }
  return withChildren(array, wanted, std::move(children));
}

ArrayResult plainBytes(const arrow::Array& array, const std::shared_ptr<arrow::DataType>& wanted,
                       const std::shared_ptr<arrow::Buffer>& bytes, const std::shared_ptr<arrow::Buffer>& offsets) {
  ARROW_ASSIGN_OR_RAISE(auto validity, validityOf(array));
  return arrow::MakeArray(arrow::ArrayData::Make(wanted, array.length(), {validity, offsets, bytes}));
}

template <typename Large>
ArrayResult ofLarge(const arrow::Array& array, const std::shared_ptr<arrow::DataType>& wanted) {
  const auto& large = static_cast<const Large&>(array);
  ARROW_ASSIGN_OR_RAISE(auto offsets,
                        plainOffsets(array.length(), [&](int64_t row) { return large.value_offset(row); }));
  return plainBytes(array, wanted, large.value_data(), offsets);
}

ArrayResult ofFixedSize(const arrow::Array& array, const std::shared_ptr<arrow::DataType>& wanted) {
  const auto& binary = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  ARROW_ASSIGN_OR_RAISE(auto offsets, plainOffsets(array.length(), [&](int64_t row) {
                          return (array.offset() + row) * binary.byte_width();
                        }));
  return plainBytes(array, wanted, array.data()->buffers[1], offsets);
}

ArrayResult ofDictionary(const arrow::Array& array) {
  TextColumn texts(array);
  arrow::StringBuilder builder(arrow::system_memory_pool());
  for (int64_t row = 0; row < array.length(); ++row) {
    ARROW_RETURN_NOT_OK(texts.isNull(row) ? builder.AppendNull() : builder.Append(texts.text(row)));
  }
  return builder.Finish();
}

ArrayResult microsOf(const arrow::Array& millis, const std::shared_ptr<arrow::DataType>& wanted) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() / kMicrosOfMilli;
  bool fits = true;
  auto micros = remade<int64_t>(millis, wanted, [&](const uint8_t* source, int64_t i) -> int64_t {
    if (millis.IsNull(i - millis.offset())) return 0;
    auto value = valueAt<int64_t>(source, i);
    bool isInRange = value >= -kLast && value <= kLast;
    fits &= isInRange;
    return isInRange ? value * kMicrosOfMilli : 0;
  });
  if (!fits) return arrow::Status::Invalid("A timestamp is out of range");
  return micros;
}

arrow::TimeUnit::type unitOf(const arrow::DataType& type) {
  return static_cast<const arrow::TimestampType&>(type).unit();
}

const arrow::DataType& wordTypeOf(const arrow::DataType& dictionary) {
  return *static_cast<const arrow::DictionaryType&>(dictionary).value_type();
}

bool isPlainDictionary(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY && wordTypeOf(type).id() == arrow::Type::STRING &&
         static_cast<const arrow::DictionaryType&>(type).index_type()->id() == arrow::Type::INT32;
}

bool fieldsCanBecome(const arrow::DataType& found, const arrow::DataType& wanted) {
  const auto& fields = static_cast<const arrow::StructType&>(found);
  for (const auto& field : wanted.fields()) {
    auto same = fields.GetFieldByName(field->name());  // nullptr when there are two of them, too
    if (same == nullptr || !canBecome(*same->type(), *field->type())) return false;
  }
  return true;
}

}  // namespace

bool canBecome(const arrow::DataType& found, const arrow::DataType& wanted) {
  arrow::Type::type id = found.id();
  switch (wanted.id()) {
    case arrow::Type::LIST:
      return isList(found) && canBecome(*found.field(0)->type(), *wanted.field(0)->type());
    case arrow::Type::STRUCT:
      return id == arrow::Type::STRUCT && fieldsCanBecome(found, wanted);
    case arrow::Type::BINARY:
      return id == arrow::Type::BINARY || id == arrow::Type::LARGE_BINARY || id == arrow::Type::FIXED_SIZE_BINARY;
    case arrow::Type::STRING:
      return isText(found);
    case arrow::Type::DICTIONARY:
      return isPlainDictionary(found) && isPlainDictionary(wanted);
    case arrow::Type::TIMESTAMP:
      return id == arrow::Type::TIMESTAMP && unitOf(wanted) == arrow::TimeUnit::MICRO &&
             (unitOf(found) == arrow::TimeUnit::MICRO || unitOf(found) == arrow::TimeUnit::MILLI);
    case arrow::Type::DOUBLE:
      return id == arrow::Type::DOUBLE || isDecimal(found);
    case arrow::Type::INT64:
      return id == arrow::Type::INT64 || id == arrow::Type::DURATION;
    case arrow::Type::UINT8:
      return id == arrow::Type::UINT8 || id == arrow::Type::BOOL;
    default:
      return sameLayout(found, wanted);
  }
}

ArrayResult become(const std::shared_ptr<arrow::Array>& array, const std::shared_ptr<arrow::DataType>& wanted) {
  if (array->type()->Equals(*wanted)) return array;
  switch (array->type_id()) {
    case arrow::Type::LIST:
      return plainList(static_cast<const arrow::ListArray&>(*array), wanted);
    case arrow::Type::LARGE_LIST:
      return plainList(static_cast<const arrow::LargeListArray&>(*array), wanted);
    case arrow::Type::FIXED_SIZE_LIST:
      return plainList(static_cast<const arrow::FixedSizeListArray&>(*array), wanted);
    case arrow::Type::STRUCT:
      return plainStruct(*array, wanted);
    case arrow::Type::LARGE_BINARY:
      return ofLarge<arrow::LargeBinaryArray>(*array, wanted);
    case arrow::Type::LARGE_STRING:
      return ofLarge<arrow::LargeStringArray>(*array, wanted);
    case arrow::Type::FIXED_SIZE_BINARY:
      return ofFixedSize(*array, wanted);
    case arrow::Type::DICTIONARY:
      if (wanted->id() == arrow::Type::DICTIONARY) return array;
      return ofDictionary(*array);
    case arrow::Type::TIMESTAMP:
      if (unitOf(*array->type()) == arrow::TimeUnit::MILLI) return microsOf(*array, wanted);
      return seenAs(*array, wanted);
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return doublesOf(*array);
    case arrow::Type::DURATION:
      return seenAs(*array, wanted);
    case arrow::Type::BOOL:
      return remade<uint8_t>(*array, wanted, [](const uint8_t* source, int64_t i) -> uint8_t {
        return arrow::bit_util::GetBit(source, i) ? 1 : 0;
      });
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
