#include "data/arrow/RowHash.h"

#include <cstring>

#include "base/Error.h"
#include "base/Random.h"

namespace bloomery::data {

namespace {

// What no length and no boolean is.
constexpr uint64_t kNull = 0xA5B35705F00D5EEDull;

void addWord(uint64_t word, uint64_t& hash) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  hash ^= hash >> 32;
}

void addBytes(const uint8_t* bytes, size_t count, uint64_t& hash) {
  uint64_t word = 0;
  for (; count >= sizeof(word); bytes += sizeof(word), count -= sizeof(word)) {
    std::memcpy(&word, bytes, sizeof(word));
    addWord(word, hash);
  }
  if (count == 0) return;
  word = 0;
  std::memcpy(&word, bytes, count);
  addWord(word, hash);
}

// In bytes; 0 for types whose values have no width of their own.
int64_t widthOf(const arrow::DataType& type) {
  const auto* fixed = dynamic_cast<const arrow::FixedWidthType*>(&type);
  bool isPlain = fixed != nullptr && type.id() != arrow::Type::DICTIONARY && fixed->bit_width() % 8 == 0;
  return isPlain ? fixed->bit_width() / 8 : 0;
}

bool hasNulls(const arrow::Array& array, int64_t first, int64_t count) {
  if (array.null_count() == 0) return false;
  for (int64_t i = first; i < first + count; ++i) {
    if (array.IsNull(i)) return true;
  }
  return false;
}

template <typename Texts>
void addText(const arrow::Array& array, int64_t index, uint64_t& hash) {
  auto text = static_cast<const Texts&>(array).GetView(index);
  addWord(text.size(), hash);
  addBytes(reinterpret_cast<const uint8_t*>(text.data()), text.size(), hash);
}

}  // namespace

RowHash::RowHash(const std::vector<const arrow::Array*>& columns) {
  for (const arrow::Array* column : columns) columns_.push_back(valuesOf(*column));
}

uint64_t RowHash::of(int64_t row) const {
  uint64_t hash = 0;
  for (const Values& column : columns_) add(column, row, 1, hash);
  return mixKey(hash, columns_.size());
}

RowHash::Values RowHash::valuesOf(std::shared_ptr<arrow::Array> array) {
  Values values = valuesOf(*array);
  values.held = std::move(array);
  return values;
}

RowHash::Values RowHash::valuesOf(const arrow::Array& array) {
  Values values{&array};
  values.width = widthOf(*array.type());
  switch (array.type_id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      break;
    case arrow::Type::LIST:
      values.inside.push_back(valuesOf(static_cast<const arrow::ListArray&>(array).values()));
      break;
    case arrow::Type::LARGE_LIST:
      values.inside.push_back(valuesOf(static_cast<const arrow::LargeListArray&>(array).values()));
      break;
    case arrow::Type::FIXED_SIZE_LIST:
      values.inside.push_back(valuesOf(static_cast<const arrow::FixedSizeListArray&>(array).values()));
      break;
    case arrow::Type::STRUCT:
      for (int i = 0; i < array.num_fields(); ++i) {
        values.inside.push_back(valuesOf(static_cast<const arrow::StructArray&>(array).field(i)));
      }
      break;
    case arrow::Type::DICTIONARY:
      values.inside.push_back(valuesOf(static_cast<const arrow::DictionaryArray&>(array).dictionary()));
      break;
    default:
      check(values.width > 0, "No hash for values of type ", array.type()->ToString());
  }
  return values;
}

// How many values there are, the caller says where that is not the same in every row.
void RowHash::add(const Values& values, int64_t first, int64_t count, uint64_t& hash) {
  if (count == 0) return;
  const arrow::Array& array = *values.array;
  const int64_t width = values.width;
  // At once where all are there, which must not depend on other rows of the batch.
  if (width > 0 && !hasNulls(array, first, count)) {
    const uint8_t* bytes = array.data()->buffers[1]->data() + (array.offset() + first) * width;
    addBytes(bytes, static_cast<size_t>(count * width), hash);
    return;
  }
  for (int64_t i = first; i < first + count; ++i) {
    if (array.IsNull(i)) {
      addWord(kNull, hash);
    } else if (width > 0) {
      addBytes(array.data()->buffers[1]->data() + (array.offset() + i) * width, static_cast<size_t>(width), hash);
    } else {
      addOne(values, i, hash);
    }
  }
}

void RowHash::addOne(const Values& values, int64_t index, uint64_t& hash) {
  const arrow::Array& array = *values.array;
  auto addList = [&](int64_t first, int64_t length) {
    addWord(static_cast<uint64_t>(length), hash);
    add(values.inside[0], first, length, hash);
  };
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return addWord(static_cast<const arrow::BooleanArray&>(array).Value(index) ? 1 : 0, hash);
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return addText<arrow::BinaryArray>(array, index, hash);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return addText<arrow::LargeBinaryArray>(array, index, hash);
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return addList(list.value_offset(index), list.value_length(index));
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      return addList(list.value_offset(index), list.value_length(index));
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      return addList(list.value_offset(index), list.value_length(index));
    }
    case arrow::Type::STRUCT:
      for (const Values& field : values.inside) add(field, index, 1, hash);
      return;
    case arrow::Type::DICTIONARY:
      return add(values.inside[0], static_cast<const arrow::DictionaryArray&>(array).GetValueIndex(index), 1, hash);
    default:
      check(false, "No hash for values of type ", array.type()->ToString());
  }
}

}  // namespace bloomery::data
