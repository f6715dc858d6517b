#include "data/arrow/DecimalColumn.h"

#include <arrow/util/decimal.h>

#include <array>
#include <charconv>
#include <string>

#include "base/Error.h"
#include "data/arrow/RemadeArray.h"

namespace bloomery::data {

namespace {

// Powers of ten and whole numbers that a double holds exactly: their quotient is rounded once.
constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                         1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kLargestExact = int64_t{1} << 53;

double parsed(const std::string& digits, int32_t scale) {
  std::string text = message(digits, "e", -scale);
  double value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  check(result.ec == std::errc(), "Decimal is no number: ", text);
  return value;
}

double nearestTo(const arrow::Decimal128& value, int32_t scale) {
  auto low = static_cast<int64_t>(value.low_bits());
  bool isLow = value.high_bits() == (low < 0 ? -1 : 0);
  bool isExact = isLow && low >= -kLargestExact && low <= kLargestExact;
  if (isExact && scale >= 0 && scale < static_cast<int32_t>(kPowers.size())) {
    return static_cast<double>(low) / kPowers[static_cast<size_t>(scale)];
  }
  return parsed(value.ToIntegerString(), scale);
}

double nearestTo(const arrow::Decimal256& value, int32_t scale) { return parsed(value.ToIntegerString(), scale); }

template <typename Decimal>
std::shared_ptr<arrow::Array> remadeOf(const arrow::Array& array) {
  const auto& type = static_cast<const arrow::DecimalType&>(*array.type());
  return remade<double>(array, arrow::float64(), [&](const uint8_t* source, int64_t i) {
    if (array.IsNull(i - array.offset())) return 0.0;
    return nearestTo(Decimal(source + static_cast<size_t>(i) * static_cast<size_t>(type.byte_width())), type.scale());
  });
}

}  // namespace

bool isDecimal(const arrow::DataType& type) {
  return type.id() == arrow::Type::DECIMAL128 || type.id() == arrow::Type::DECIMAL256;
}

std::shared_ptr<arrow::Array> doublesOf(const arrow::Array& decimals) {
  return decimals.type_id() == arrow::Type::DECIMAL128 ? remadeOf<arrow::Decimal128>(decimals)
                                                       : remadeOf<arrow::Decimal256>(decimals);
}

}  // namespace bloomery::data
