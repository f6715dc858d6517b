#include "data/arrow/FeatureColumn.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace bloomery::data {

namespace {

std::string shapeOf(const FeatureFormat& format) {
  return format.shape.rank() > 0 ? format.shape.toString() : Shape{format.count}.toString();
}

// Calls `function` with a value of the C++ type that stands for this type.
template <typename Function>
auto withType(DType type, Function function) {
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

// Whether `value` arrives as itself; a float may round, a whole number may not change.
template <typename From, typename To>
bool assign(From value, To& result) {
  if constexpr (std::is_floating_point_v<To>) {
    result = static_cast<To>(value);
    return std::isfinite(result) || !std::isfinite(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<From>) {
    // Both bounds are powers of two or zero, hence exact; NaN fails the comparison.
    constexpr From kLowest = static_cast<From>(std::numeric_limits<To>::min());
    const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (!(value >= kLowest && value < beyond) || std::trunc(value) != value) return false;
    result = static_cast<To>(value);
    return true;
  } else {
    result = static_cast<To>(value);
    return std::in_range<To>(value);
  }
}

template <typename From, typename To>
int64_t convertAll(const void* from, int64_t count, std::byte* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(To));
  } else {
    const From* values = static_cast<const From*>(from);
    To* results = reinterpret_cast<To*>(to);
    for (int64_t i = 0; i < count; ++i) {
      if (!assign(values[i], results[i])) return i;
    }
  }
  return -1;
}

}  // namespace

const ColumnWords kFeatureWords{"features", "Features are null", "Feature",
                                "binary, an array of numbers or, for a single feature, a number",
                                "give the Input another dtype or cast the column"};
const ColumnWords kTargetWords{"label", "Label is null", "Label", "a number or an array of numbers", "cast the column"};

void FeatureColumn::checkField(const arrow::Field& field, const FeatureFormat& format, const ColumnWords& words) {
  const arrow::DataType& type = *field.type();
  auto wrongLength = [&](int64_t found, const char* unit, size_t wanted) {
    throw UserError(message("Wrong length of column '", field.name(), "': ", found, " ", unit, " a row, wanted ",
                            wanted, " for shape ", shapeOf(format), " of ", nameOf(format.type)));
  };
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
      return;
    case arrow::Type::FIXED_SIZE_BINARY: {
      int width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
      if (static_cast<size_t>(width) != format.bytes()) wrongLength(width, "bytes", format.bytes());
      return;
    }
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
      if (isNumber(*type.field(0)->type())) return;
      break;
    case arrow::Type::FIXED_SIZE_LIST: {
      if (!isNumber(*type.field(0)->type())) break;
      int length = static_cast<const arrow::FixedSizeListType&>(type).list_size();
      if (length != format.count) wrongLength(length, "values", static_cast<size_t>(format.count));
      return;
    }
    default:
      if (!isNumber(type)) break;
      if (format.count != 1) wrongLength(1, "value", static_cast<size_t>(format.count));
      return;
  }
  throw UserError(message("Wrong type of ", words.column, " column '", field.name(), "': ", type.ToString(),
                          ", wanted ", words.wanted));
}

FeatureColumn::FeatureColumn(const arrow::Array& array, const FeatureFormat& format, const ColumnWords& words)
    : array_(array), format_(format), words_(words) {
  const arrow::Array* values = &array;
  switch (array.type_id()) {
    case arrow::Type::BINARY: {
      const auto& binary = static_cast<const arrow::BinaryArray&>(array);
      offsets_ = binary.raw_value_offsets();
      bytes_ = reinterpret_cast<const std::byte*>(binary.raw_data());
      return;
    }
    case arrow::Type::LARGE_BINARY: {
      const auto& binary = static_cast<const arrow::LargeBinaryArray&>(array);
      largeOffsets_ = binary.raw_value_offsets();
      bytes_ = reinterpret_cast<const std::byte*>(binary.raw_data());
      return;
    }
    case arrow::Type::FIXED_SIZE_BINARY: {
      const auto& binary = static_cast<const arrow::FixedSizeBinaryArray&>(array);
      fixedLength_ = binary.byte_width();
      bytes_ = reinterpret_cast<const std::byte*>(binary.raw_values());
      return;
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      offsets_ = list.raw_value_offsets();
      values = list.values().get();
      break;
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      largeOffsets_ = list.raw_value_offsets();
      values = list.values().get();
      break;
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      fixedLength_ = list.list_type()->list_size();
      values = list.values().get();
      break;
    }
    default:
      break;
  }
  numbers_.emplace(*values);
  numberBytes_ = withNumberType(*values->type(), [](auto zero) { return sizeof(zero); });
  convert_ = converter(*values->type(), format.type);
}

FeatureColumn::Convert FeatureColumn::converter(const arrow::DataType& from, DType to) {
  return withNumberType(from, [&](auto zero) -> Convert {
    using From = decltype(zero);
    return withType(to, [](auto result) -> Convert { return convertAll<From, decltype(result)>; });
  });
}

FeatureColumn::Range FeatureColumn::rangeOf(int64_t row) const {
  if (offsets_ != nullptr) return {offsets_[row], int64_t{offsets_[row + 1]} - offsets_[row]};
  if (largeOffsets_ != nullptr) return {largeOffsets_[row], largeOffsets_[row + 1] - largeOffsets_[row]};
  // The bytes of a sliced binary begin at its first row, the numbers of a sliced list do not.
  int64_t first = array_.type_id() == arrow::Type::FIXED_SIZE_LIST ? array_.offset() : 0;
  return {(first + row) * fixedLength_, fixedLength_};
}

void FeatureColumn::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  if (array_.IsNull(row)) throw UserError(message(words_.areNull, ": ", place));
  Range range = rangeOf(row);
  numbers_ ? copyNumbers(range, to, place) : copyBytes(range, to, place);
  if (format_.indexLimit > 0) checkIndices(to, place);
}

void FeatureColumn::checkIndices(const std::byte* values, const RowPlace& place) const {
  withType(format_.type, [&](auto zero) {
    for (int64_t i = 0; i < format_.count; ++i) {
      decltype(zero) value;
      std::memcpy(&value, values + static_cast<size_t>(i) * sizeof(value), sizeof(value));
      double index = static_cast<double>(value);
      if (index >= 0 && index < static_cast<double>(format_.indexLimit) && std::trunc(index) == index) continue;
      throw UserError(message("Index out of range: ", index, ", wanted a whole number below ", format_.indexLimit,
                              ", element ", i, ", ", place));
    }
  });
}

void FeatureColumn::copyBytes(Range range, std::byte* to, const RowPlace& place) const {
  if (range.length != static_cast<int64_t>(format_.bytes())) {
    throw UserError(message("Wrong length of binary value: ", range.length, " bytes, wanted ", format_.bytes(),
                            " for shape ", shapeOf(format_), " of ", nameOf(format_.type), ", ", place));
  }
  std::memcpy(to, bytes_ + range.begin, format_.bytes());
}

void FeatureColumn::copyNumbers(Range range, std::byte* to, const RowPlace& place) const {
  if (range.length != format_.count) {
    throw UserError(message("Wrong length of array: ", range.length, " values, wanted ", format_.count, " for shape ",
                            shapeOf(format_), ", ", place));
  }
  if (numbers_->hasNulls()) {
    for (int64_t i = 0; i < range.length; ++i) {
      if (numbers_->isNull(range.begin + i))
        throw UserError(message(words_.element, " is null: element ", i, ", ", place));
    }
  }
  const auto* from =
      static_cast<const std::byte*>(numbers_->values()) + static_cast<size_t>(range.begin) * numberBytes_;
  int64_t bad = convert_(from, range.length, to);
  if (bad >= 0) {
    throw UserError(message(words_.element, " does not fit ", nameOf(format_.type), ": ",
                            numbers_->value(range.begin + bad), ", element ", bad, ", ", place, "; ", words_.advice));
  }
}

}  // namespace bloomery::data
