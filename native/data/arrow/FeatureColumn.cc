#include "data/arrow/FeatureColumn.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/Error.h"
#include "data/LateValues.h"
#include "data/arrow/BinaryRows.h"
#include "data/arrow/CategoryRows.h"
#include "data/arrow/ImageRows.h"
#include "data/arrow/NumberRows.h"
#include "data/arrow/ValueConvert.h"
#include "data/arrow/VectorColumn.h"

namespace bloomery::data {

namespace {

constexpr const char* kCategoryAdvice = "texts and whole numbers, or arrays of them, as categories";

// What a column of this type, or of a dictionary of it, holds.
const arrow::DataType& decodedType(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return type;
  return *static_cast<const arrow::DictionaryType&>(type).value_type();
}

double numberAt(const std::byte* value, DType type) {
  return withDType(type, [&](auto found) {
    std::memcpy(&found, value, sizeof(found));
    return static_cast<double>(found);
  });
}

std::unique_ptr<ColumnRows> readerOf(const arrow::Array& array, const ColumnPart& part) {
  const arrow::DataType& type = *array.type();
  if (part.rule.categories) return std::make_unique<CategoryRows>(array, part);
  if (isBinary(type)) return std::make_unique<BinaryRows>(array, part);
  if (isVector(type)) return std::make_unique<VectorRows>(array, part);
  if (isImage(type)) return std::make_unique<ImageRows>(array, part);
  return std::make_unique<NumberRows>(array, part);
}

}  // namespace

int64_t FeatureColumn::sizeOf(const arrow::DataType& type, const InputColumn& rule, DType wanted) {
  const arrow::DataType& decoded = decodedType(type);
  if (rule.size > 0) return rule.size;
  if (decoded.id() == arrow::Type::FIXED_SIZE_BINARY) {
    int64_t width = static_cast<const arrow::FixedSizeBinaryType&>(decoded).byte_width();
    return width / static_cast<int64_t>(bloomery::sizeOf(wanted));
  }
  if (isBinary(decoded) || isVector(decoded) || isImage(decoded)) return 0;
  return fixedLengthOf(decoded);
}

void FeatureColumn::checkField(const arrow::Field& field, const ColumnPart& part) {
  const arrow::DataType& type = decodedType(*field.type());
  const FeatureFormat& format = part.format;
  auto wrongType = [&](const char* wanted) {
    return UserError(message("Wrong type of ", part.words->column, " column '", field.name(),
                             "': ", field.type()->ToString(), ", wanted ", wanted));
  };
  auto wrongLength = [&](int64_t found, const char* unit, size_t wanted) {
    return UserError(message("Wrong length of column '", field.name(), "': ", found, " ", unit, " a row, wanted ",
                             wanted, " for shape ", part.shape(), " of ", nameOf(format.type)));
  };
  bool fitsAnyLength = part.rule.padding || part.rule.truncating;
  if (fitsAnyLength && listDepthOf(type) != 1) throw wrongType("an array of values, for padding and truncating");
  if (part.rule.categories) {
    if (!isCategory(valueTypeOf(type))) throw wrongType(kCategoryAdvice);
  } else if (type.id() == arrow::Type::FIXED_SIZE_BINARY) {
    int width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
    if (static_cast<size_t>(width) != format.bytes()) throw wrongLength(width, "bytes", format.bytes());
    return;
  } else if (isBinary(type) || isVector(type) || isImage(type)) {
    return;
  } else if (isText(valueTypeOf(type)) && part.words == &kFeatureWords) {
    throw wrongType("a vocabulary or hashBuckets for its texts");
  } else if (!becomesNumber(valueTypeOf(type))) {
    throw wrongType(part.words->wanted);
  }
  int64_t length = fixedLengthOf(type);
  if (length > 0 && length != format.count && !fitsAnyLength) {
    throw wrongLength(length, length == 1 ? "value" : "values", static_cast<size_t>(format.count));
  }
}

FeatureColumn::FeatureColumn(const arrow::Array& array, const ColumnPart& part)
    : array_(array), part_(part), values_(&array) {
  // Texts are looked up in their dictionary by whoever reads them.
  if (array.type_id() == arrow::Type::DICTIONARY && !isText(*array.type())) {
    encoded_ = static_cast<const arrow::DictionaryArray*>(&array);
    dictionary_ = encoded_->dictionary();
    values_ = dictionary_.get();
  }
  reader_ = readerOf(*values_, part);
}

void FeatureColumn::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  bool isNull = array_.IsNull(row);
  if (!isNull && encoded_ != nullptr) {
    row = encoded_->GetValueIndex(row);
    isNull = values_->IsNull(row);
  }
  if (isNull) return part_.writeRowOfNull(to, place);
  reader_->copy(row, to, place);
  if (part_.rule.nans == NanRule::kError) checkFinite(to, place);
  if (!hasIndices()) return;
  for (int64_t i = 0; i < part_.format.count; ++i) {
    checkIndex(to + static_cast<size_t>(i) * part_.valueBytes(), i, place);
  }
}

void FeatureColumn::copy(int64_t row, int64_t count, std::byte* to, size_t stride, const RowPlace& first) const {
  // Where something is wrong, one row after the other tells what.
  if (areWhole(row, count) && copyWhole(row, count, to, stride)) return;
  for (int64_t i = 0; i < count; ++i) copy(row + i, to + static_cast<size_t>(i) * stride, first.behind(i));
}

bool FeatureColumn::areWhole(int64_t row, int64_t count) const {
  return encoded_ == nullptr && array_.null_count() == 0 && reader_->areWhole(row, count);
}

// Rows are looked at where they lie together and are still in the processor's cache.
bool FeatureColumn::copyWhole(int64_t row, int64_t count, std::byte* to, size_t stride) const {
  constexpr size_t kCached = 32 << 10;
  alignas(64) std::byte apart[4 << 10];
  size_t bytes = part_.format.bytes();
  bool together = stride == bytes;
  if (together && !areLookedAt()) return reader_->copyWhole(row, count, to);
  if (!together && bytes > sizeof(apart)) return false;
  auto most = static_cast<int64_t>(std::max<size_t>((together ? kCached : sizeof(apart)) / bytes, 1));
  for (int64_t done = 0; done < count; done += most) {
    int64_t some = std::min(count - done, most);
    std::byte* begin = to + static_cast<size_t>(done) * stride;
    std::byte* rows = together ? begin : apart;
    if (!reader_->copyWhole(row + done, some, rows) || !areGood(rows, some * part_.format.count)) return false;
    if (together) continue;
    for (size_t i = 0; i < static_cast<size_t>(some); ++i) std::memcpy(begin + i * stride, rows + i * bytes, bytes);
  }
  return true;
}

bool FeatureColumn::areLookedAt() const {
  bool mayBeNan = part_.format.type == DType::kFloat32 || part_.format.type == DType::kFloat64;
  return hasIndices() || (mayBeNan && part_.rule.nans == NanRule::kError);
}

bool FeatureColumn::areGood(const std::byte* values, int64_t count) const {
  if (part_.rule.nans == NanRule::kError && findNotFinite(part_.format.type, values, 0, count) >= 0) return false;
  if (!hasIndices()) return true;
  for (int64_t i = 0; i < count; ++i) {
    if (!isIndex(numberAt(values + static_cast<size_t>(i) * part_.valueBytes(), part_.format.type))) return false;
  }
  return true;
}

void FeatureColumn::checkFinite(const std::byte* values, const RowPlace& place) const {
  int64_t bad = findNotFinite(part_.format.type, values, 0, part_.format.count);
  // Nulls that wait for their mean are marked by a NaN.
  while (bad >= 0 && part_.rule.means != nullptr &&
         LateMeans::isMarked(values + static_cast<size_t>(bad) * part_.valueBytes(), part_.format.type)) {
    bad = findNotFinite(part_.format.type, values, bad + 1, part_.format.count);
  }
  if (bad >= 0) throwNotFinite(values + static_cast<size_t>(bad) * part_.valueBytes(), bad, place);
}

void FeatureColumn::throwNotFinite(const std::byte* value, int64_t element, const RowPlace& place) const {
  throw UserError(message(part_.words->element, " is not finite: ", shown(numberAt(value, part_.format.type)),
                          ", element ", element, ", ", place,
                          "; drop such rows, or set the column's nans to \"pass\""));
}

bool FeatureColumn::isIndex(double value) const {
  return value >= 0 && value < static_cast<double>(part_.format.indexLimit) && std::trunc(value) == value;
}

void FeatureColumn::checkIndex(const std::byte* value, int64_t element, const RowPlace& place) const {
  double index = numberAt(value, part_.format.type);
  if (isIndex(index)) return;
  throw UserError(message("Index out of range: ", shown(index), ", wanted a whole number below ",
                          part_.format.indexLimit, ", element ", element, ", ", place));
}

}  // namespace bloomery::data
