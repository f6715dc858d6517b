#include "data/arrow/DirectColumn.h"

#include <parquet/exception.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "data/arrow/RecyclingPool.h"

namespace bloomery::data {

namespace {

using ArrayResult = arrow::Result<std::shared_ptr<arrow::Array>>;

// Levels that are decoded at once: they and their values stay in the processor's cache.
constexpr int64_t kLevels = 8192;
// Beyond, an array takes no more rows; its offsets could not tell more than the latter.
constexpr int64_t kMostBytes = int64_t{1} << 30, kMostOffset = std::numeric_limits<int32_t>::max();

// Values that come one after the other. Their memory is kept for the next ones when they are let go.
template <typename T>
class Values {
 public:
  // Room for so many more.
  arrow::Status reserve(int64_t more) {
    int64_t bytes = (size_ + more) * static_cast<int64_t>(sizeof(T));
    if (buffer_ == nullptr) return arrow::AllocateResizableBuffer(bytes, recyclingPool()).Value(&buffer_);
    if (bytes <= buffer_->size()) return arrow::Status::OK();
    return buffer_->Resize(std::max(bytes, 2 * buffer_->size()));
  }

  int64_t size() const { return size_; }
  T* data() { return reinterpret_cast<T*>(buffer_->mutable_data()); }
  T* end() { return data() + size_; }
  void add(T value) { data()[size_++] = value; }
  void grow(int64_t count) { size_ += count; }  // by values that were written at the end

  arrow::Result<std::shared_ptr<arrow::Buffer>> finish() {
    ARROW_RETURN_NOT_OK(reserve(0));
    ARROW_RETURN_NOT_OK(buffer_->Resize(size_ * static_cast<int64_t>(sizeof(T)), /*shrink_to_fit=*/false));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer_));
  }

 private:
  std::unique_ptr<arrow::ResizableBuffer> buffer_;
  int64_t size_ = 0;
};

// Which are null; nothing as long as none is.
class Validity {
 public:
  // The place counts the rows or elements; those between the nulls are valid.
  arrow::Status addNull(int64_t place) {
    ARROW_RETURN_NOT_OK(bits_.Append(place - bits_.length(), true));
    return bits_.Append(false);
  }

  int64_t numNulls() const { return bits_.false_count(); }

  arrow::Result<std::shared_ptr<arrow::Buffer>> finish(int64_t length) {
    if (numNulls() == 0) return std::shared_ptr<arrow::Buffer>();
    ARROW_RETURN_NOT_OK(bits_.Append(length - bits_.length(), true));
    return bits_.Finish();
  }

 private:
  arrow::TypedBufferBuilder<bool> bits_{recyclingPool()};
};

template <typename T>
arrow::Result<std::shared_ptr<arrow::ArrayData>> dataOf(std::shared_ptr<arrow::DataType> type, int64_t length,
                                                        Validity& validity, Values<T>& values,
                                                        std::vector<std::shared_ptr<arrow::Buffer>> further = {}) {
  int64_t numNulls = validity.numNulls();
  ARROW_ASSIGN_OR_RAISE(auto bits, validity.finish(length));
  ARROW_ASSIGN_OR_RAISE(auto buffer, values.finish());
  further.insert(further.begin(), {std::move(bits), std::move(buffer)});
  return arrow::ArrayData::Make(std::move(type), length, std::move(further), numNulls);
}

[[noreturn]] void throwWrongLevels() { throw parquet::ParquetException("Values of a column do not make up its rows"); }

// The levels of a column chunk and their values, page by page.
template <typename Type>
class Leaf {
 public:
  using T = typename Type::c_type;

  Leaf(std::shared_ptr<parquet::ColumnReader> reader, int64_t numLevels)
      : reader_(std::move(reader)), valid_(reader_->descr()->max_definition_level()), levelsLeft_(numLevels) {}

  bool hasNext() const { return levelsLeft_ > 0; }
  // Definition level of a value; below, something is null or empty.
  int16_t valid() const { return valid_; }
  bool isOptional() const { return reader_->descr()->schema_node()->is_optional(); }

  struct Read {
    int64_t levels = 0, values = 0;
    bool hasGaps() const { return values < levels; }  // definitions need not be looked at otherwise
  };
  // At most so many levels.
  Read read(int64_t levels, int16_t* definitions, int16_t* repetitions, T* values) {
    // A page that is empty looks like the end.
    for (int i = 0; i < kEmptyPages && !reader_->HasNext(); ++i) continue;
    Read read;
    auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(*reader_);
    read.levels = typed.ReadBatch(levels, definitions, repetitions, values, &read.values);
    if (read.levels <= 0) throwWrongLevels();
    if (read.hasGaps() && std::count(definitions, definitions + read.levels, valid_) != read.values) throwWrongLevels();
    levelsLeft_ -= read.levels;
    return read;
  }

 private:
  static constexpr int kEmptyPages = 1000;

  std::shared_ptr<parquet::ColumnReader> reader_;
  int16_t valid_;
  int64_t levelsLeft_;
};

// One level for each row: whether it has a value.
template <typename Type>
class FlatLeaf {
 public:
  FlatLeaf(std::shared_ptr<parquet::ColumnReader> reader, int64_t numLevels) : leaf_(std::move(reader), numLevels) {}

  auto read(int64_t rows, typename Type::c_type* values) {
    return leaf_.read(std::min(rows, kLevels), definitions_.data(), nullptr, values);
  }
  bool isNull(int64_t row) const { return definitions_[static_cast<size_t>(row)] != leaf_.valid(); }

 private:
  Leaf<Type> leaf_;
  std::array<int16_t, kLevels> definitions_;  // of the last rows
};

template <typename Type>
class FlatNumbers final : public DirectColumn {
 public:
  using T = typename Type::c_type;

  FlatNumbers(std::shared_ptr<arrow::DataType> type, std::shared_ptr<parquet::ColumnReader> reader, int64_t numLevels)
      : type_(std::move(type)), leaf_(std::move(reader), numLevels) {}

  ArrayResult next(int64_t rows) override {
    Values<T> values;
    Validity validity;
    ARROW_RETURN_NOT_OK(values.reserve(rows));
    while (values.size() < rows) {
      auto read = leaf_.read(rows - values.size(), values.end());
      if (read.hasGaps()) ARROW_RETURN_NOT_OK(spread(values.end(), read.levels, read.values, values.size(), validity));
      values.grow(read.levels);
    }
    ARROW_ASSIGN_OR_RAISE(auto array, dataOf(type_, rows, validity, values));
    return arrow::MakeArray(array);
  }

 private:
  // Values come without gaps; from the last one on, each goes to its row.
  arrow::Status spread(T* values, int64_t rows, int64_t count, int64_t firstRow, Validity& validity) {
    for (int64_t row = rows - 1; row >= 0; --row) values[row] = leaf_.isNull(row) ? T{} : values[--count];
    for (int64_t row = 0; row < rows; ++row) {
      if (leaf_.isNull(row)) ARROW_RETURN_NOT_OK(validity.addNull(firstRow + row));
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::DataType> type_;
  FlatLeaf<Type> leaf_;
};

class FlatBinaries final : public DirectColumn {
 public:
  FlatBinaries(std::shared_ptr<arrow::DataType> type, std::shared_ptr<parquet::ColumnReader> reader, int64_t numLevels)
      : type_(std::move(type)), leaf_(std::move(reader), numLevels) {}

  ArrayResult next(int64_t rows) override {
    Values<int32_t> offsets;
    Values<uint8_t> bytes;
    Validity validity;
    ARROW_RETURN_NOT_OK(offsets.reserve(rows + 1));
    while (offsets.size() < rows && bytes.size() < kMostBytes) {
      auto read = leaf_.read(std::min(rows - offsets.size(), kAtOnce), found_.data());
      int64_t size = 0;
      for (int64_t i = 0; i < read.values; ++i) size += found_[static_cast<size_t>(i)].len;
      if (bytes.size() + size > kMostOffset) {
        return arrow::Status::Invalid("Values are too large: ", size, " bytes in ", read.levels, " rows");
      }
      // As many bytes as all rows take if they are as large as these.
      int64_t all = std::min(size / read.levels * (rows - offsets.size()), kMostBytes);
      ARROW_RETURN_NOT_OK(bytes.reserve(std::max(size, bytes.size() == 0 ? all : 0)));
      ARROW_RETURN_NOT_OK(add(read, offsets, bytes, validity));
    }
    int64_t length = offsets.size();
    offsets.add(static_cast<int32_t>(bytes.size()));
    ARROW_ASSIGN_OR_RAISE(auto values, bytes.finish());
    ARROW_ASSIGN_OR_RAISE(auto array, dataOf(type_, length, validity, offsets, {std::move(values)}));
    return arrow::MakeArray(array);
  }

 private:
  static constexpr int64_t kAtOnce = 512;

  arrow::Status add(const Leaf<parquet::ByteArrayType>::Read& read, Values<int32_t>& offsets, Values<uint8_t>& bytes,
                    Validity& validity) {
    const parquet::ByteArray* value = found_.data();
    for (int64_t i = 0; i < read.levels; ++i) {
      bool isNull = read.hasGaps() && leaf_.isNull(i);
      if (isNull) ARROW_RETURN_NOT_OK(validity.addNull(offsets.size()));
      offsets.add(static_cast<int32_t>(bytes.size()));
      if (isNull) continue;
      if (value->len > 0) std::memcpy(bytes.end(), value->ptr, value->len);
      bytes.grow(value->len);
      ++value;
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::DataType> type_;
  FlatLeaf<parquet::ByteArrayType> leaf_;
  std::array<parquet::ByteArray, kAtOnce> found_;  // in the last page, or in the dictionary
};

// Lists of numbers. A level is an element, or a row without any; it tells whether it begins a row.
template <typename Type>
class NumberLists final : public DirectColumn {
 public:
  using T = typename Type::c_type;

  NumberLists(std::shared_ptr<arrow::DataType> type, std::shared_ptr<parquet::ColumnReader> reader, int64_t numLevels,
              int64_t usualLength)
      : type_(std::move(type)),
        leaf_(std::move(reader), numLevels),
        element_(static_cast<int16_t>(leaf_.valid() - (leaf_.isOptional() ? 1 : 0))),
        usualLength_(usualLength) {}

  ArrayResult next(int64_t rows) override {
    Lists lists;
    ARROW_RETURN_NOT_OK(lists.offsets.reserve(rows + 1));
    ARROW_RETURN_NOT_OK(lists.elements.reserve(std::min(rows * usualLength_ + 1, kMostElements)));
    if (numLeft_ > 0) {
      auto count = static_cast<int64_t>(left_.size());
      ARROW_RETURN_NOT_OK(lists.elements.reserve(count));
      std::copy(left_.begin(), left_.end(), lists.elements.end());
      ARROW_RETURN_NOT_OK(take(lists, rows, numLeft_, count));
    }
    // A row has ended when another begins.
    while (numLeft_ == 0 && leaf_.hasNext()) {
      if (lists.elements.size() > kMostElements) rows = std::min(rows, lists.offsets.size());
      if (lists.elements.size() > kMostOffset - kLevels) return arrow::Status::Invalid("An array is too long");
      int64_t missing = rows * usualLength_ + 1 - lists.elements.size();
      int64_t count = std::clamp(missing, kFewLevels, kLevels);
      ARROW_RETURN_NOT_OK(lists.elements.reserve(count));
      auto read = leaf_.read(count, definitions_.data(), repetitions_.data(), lists.elements.end());
      ARROW_RETURN_NOT_OK(take(lists, rows, read.levels, read.values));
    }
    if (lists.offsets.size() != rows) throwWrongLevels();
    return finish(lists);
  }

 private:
  static constexpr int64_t kFewLevels = 256;
  static constexpr int64_t kMostElements = kMostBytes / static_cast<int64_t>(sizeof(T));

  struct Lists {
    Values<int32_t> offsets;  // of the rows that have begun
    Values<T> elements;
    Validity validRows, validElements;
  };

  // Takes over levels, whose values lie behind the elements, up to the end of the last row; the rest is left for the
  // next rows.
  arrow::Status take(Lists& lists, int64_t rows, int64_t count, int64_t values) {
    if (lists.offsets.size() == 0 && repetitions_[0] != 0) throwWrongLevels();
    if (values < count) return takeWithGaps(lists, rows, count, values);
    int64_t taken = takeEqual(lists, rows, count);
    if (taken == 0) taken = takeUnequal(lists, rows, count);
    lists.elements.grow(taken);
    leave(taken, count, lists.elements.end(), count - taken);
    return arrow::Status::OK();
  }

  // Where all rows are as long as is usual, the number of levels taken; else 0.
  int64_t takeEqual(Lists& lists, int64_t rows, int64_t count) {
    int64_t begun = lists.offsets.size();
    int64_t first = begun == 0 ? 0 : lists.offsets.data()[begun - 1] + usualLength_ - lists.elements.size();
    if (first < 0) return 0;
    int64_t expected = first < count ? (count - 1 - first) / usualLength_ + 1 : 0;
    if (std::count(repetitions_.data(), repetitions_.data() + count, int16_t{0}) != expected) return 0;
    for (int64_t i = 0; i < expected; ++i) {
      if (repetitions_[static_cast<size_t>(first + i * usualLength_)] != 0) return 0;
    }
    int64_t wanted = std::min(expected, rows - begun);
    for (int64_t i = 0; i < wanted; ++i) {
      lists.offsets.add(static_cast<int32_t>(lists.elements.size() + first + i * usualLength_));
    }
    return wanted < expected ? first + wanted * usualLength_ : count;
  }

  int64_t takeUnequal(Lists& lists, int64_t rows, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (repetitions_[static_cast<size_t>(i)] != 0) continue;
      if (lists.offsets.size() == rows) return i;
      lists.offsets.add(static_cast<int32_t>(lists.elements.size() + i));
    }
    return count;
  }

  // Some are null, or have no elements; values come without gaps.
  arrow::Status takeWithGaps(Lists& lists, int64_t rows, int64_t count, int64_t values) {
    packed_.assign(lists.elements.end(), lists.elements.end() + values);
    ARROW_RETURN_NOT_OK(lists.elements.reserve(count));
    int64_t taken = 0, takenValues = 0;
    for (; taken < count; ++taken) {
      int16_t definition = definitions_[static_cast<size_t>(taken)];
      if (repetitions_[static_cast<size_t>(taken)] == 0) {
        if (lists.offsets.size() == rows) break;
        if (definition < element_ - 1) ARROW_RETURN_NOT_OK(lists.validRows.addNull(lists.offsets.size()));
        lists.offsets.add(static_cast<int32_t>(lists.elements.size()));
      }
      if (definition < element_) continue;
      bool isNull = definition < leaf_.valid();
      if (isNull) ARROW_RETURN_NOT_OK(lists.validElements.addNull(lists.elements.size()));
      lists.elements.add(isNull ? T{} : packed_[static_cast<size_t>(takenValues++)]);
    }
    leave(taken, count, packed_.data() + takenValues, values - takenValues);
    return arrow::Status::OK();
  }

  void leave(int64_t taken, int64_t count, const T* values, int64_t numValues) {
    numLeft_ = count - taken;
    left_.assign(values, values + numValues);
    std::copy_n(definitions_.begin() + taken, numLeft_, definitions_.begin());
    std::copy_n(repetitions_.begin() + taken, numLeft_, repetitions_.begin());
  }

  ArrayResult finish(Lists& lists) {
    int64_t length = lists.offsets.size(), numElements = lists.elements.size();
    lists.offsets.add(static_cast<int32_t>(numElements));
    ARROW_ASSIGN_OR_RAISE(auto elements,
                          dataOf(type_->field(0)->type(), numElements, lists.validElements, lists.elements));
    ARROW_ASSIGN_OR_RAISE(auto array, dataOf(type_, length, lists.validRows, lists.offsets));
    array->child_data.push_back(std::move(elements));
    return arrow::MakeArray(array);
  }

  std::shared_ptr<arrow::DataType> type_;
  Leaf<Type> leaf_;
  // From this definition level on there is an element, null or not. One below, a row has no elements; further below it
  // is null.
  int16_t element_;
  int64_t usualLength_;
  std::array<int16_t, kLevels> definitions_, repetitions_;
  std::vector<T> packed_;
  // Of the next row: levels, in the arrays above, and values.
  int64_t numLeft_ = 0;
  std::vector<T> left_;
};

template <typename Type>
std::unique_ptr<DirectColumn> openNumbers(const std::shared_ptr<arrow::DataType>& type,
                                          std::shared_ptr<parquet::ColumnReader> leaf, int64_t numRows,
                                          int64_t numLevels) {
  if (type->id() != arrow::Type::LIST) return std::make_unique<FlatNumbers<Type>>(type, std::move(leaf), numLevels);
  int64_t usualLength = std::clamp<int64_t>(numLevels / std::max<int64_t>(numRows, 1), 1, kMostBytes);
  return std::make_unique<NumberLists<Type>>(type, std::move(leaf), numLevels, usualLength);
}

bool liesAsNumber(const arrow::DataType& type, parquet::Type::type inFile) {
  switch (type.id()) {
    case arrow::Type::FLOAT:
      return inFile == parquet::Type::FLOAT;
    case arrow::Type::DOUBLE:
      return inFile == parquet::Type::DOUBLE;
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
      return inFile == parquet::Type::INT32;
    case arrow::Type::INT64:
      return inFile == parquet::Type::INT64;
    default:
      return false;
  }
}

}  // namespace

bool DirectColumn::canRead(const arrow::Field& field, const parquet::ColumnDescriptor& leaf) {
  int levels = field.nullable() ? 1 : 0;
  if (field.type()->id() != arrow::Type::LIST) {
    bool isBinary = field.type()->id() == arrow::Type::BINARY && leaf.physical_type() == parquet::Type::BYTE_ARRAY;
    return (isBinary || liesAsNumber(*field.type(), leaf.physical_type())) && leaf.max_repetition_level() == 0 &&
           leaf.max_definition_level() == levels;
  }
  const arrow::Field& element = *field.type()->field(0);
  levels += element.nullable() ? 2 : 1;
  return liesAsNumber(*element.type(), leaf.physical_type()) && leaf.max_repetition_level() == 1 &&
         leaf.max_definition_level() == levels && leaf.schema_node()->is_optional() == element.nullable();
}

std::unique_ptr<DirectColumn> DirectColumn::open(const arrow::Field& field, std::shared_ptr<parquet::ColumnReader> leaf,
                                                 int64_t numRows, int64_t numLevels) {
  switch (leaf->type()) {
    case parquet::Type::FLOAT:
      return openNumbers<parquet::FloatType>(field.type(), std::move(leaf), numRows, numLevels);
    case parquet::Type::DOUBLE:
      return openNumbers<parquet::DoubleType>(field.type(), std::move(leaf), numRows, numLevels);
    case parquet::Type::INT32:
      return openNumbers<parquet::Int32Type>(field.type(), std::move(leaf), numRows, numLevels);
    case parquet::Type::INT64:
      return openNumbers<parquet::Int64Type>(field.type(), std::move(leaf), numRows, numLevels);
    default:
      return std::make_unique<FlatBinaries>(field.type(), std::move(leaf), numLevels);
  }
}

}  // namespace bloomery::data
