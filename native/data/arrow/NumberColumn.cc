#include "data/arrow/NumberColumn.h"

#include <arrow/util/bit_util.h>
#include <arrow/util/float16.h>

#include "data/arrow/DecimalColumn.h"
#include "data/arrow/RemadeArray.h"

namespace bloomery::data {

namespace {

constexpr double kMillisOfDay = 86'400'000;

double secondsOf(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1e3;
    case arrow::TimeUnit::MICRO:
      return 1e6;
    case arrow::TimeUnit::NANO:
      return 1e9;
  }
  throw InternalError(message("Unknown unit of time: ", static_cast<int>(unit)));
}

std::shared_ptr<arrow::Array> plainNumbers(const arrow::Array& array) {
  const arrow::DataType& type = *array.type();
  switch (type.id()) {
    case arrow::Type::BOOL:
      return remade<uint8_t>(array, arrow::uint8(), [](const uint8_t* source, int64_t i) -> uint8_t {
        return arrow::bit_util::GetBit(source, i) ? 1 : 0;
      });
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return doublesOf(array);
    case arrow::Type::HALF_FLOAT:
      return remade<float>(array, arrow::float32(), [](const uint8_t* source, int64_t i) {
        return arrow::util::Float16::FromBits(valueAt<uint16_t>(source, i)).ToFloat();
      });
    case arrow::Type::DATE32:
      return seenAs(array, arrow::int32());
    case arrow::Type::DATE64:
      return remade<double>(array, arrow::float64(), [](const uint8_t* source, int64_t i) {
        return static_cast<double>(valueAt<int64_t>(source, i)) / kMillisOfDay;
      });
    case arrow::Type::TIMESTAMP: {
      double unit = secondsOf(static_cast<const arrow::TimestampType&>(type).unit());
      return remade<double>(array, arrow::float64(), [unit](const uint8_t* source, int64_t i) {
        return static_cast<double>(valueAt<int64_t>(source, i)) / unit;
      });
    }
    default:
      return arrow::MakeArray(array.data());
  }
}

}  // namespace

bool isNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || isDecimal(type);
}

bool becomesNumber(const arrow::DataType& type) {
  return isNumber(type) || type.id() == arrow::Type::BOOL || type.id() == arrow::Type::DATE32 ||
         type.id() == arrow::Type::DATE64 || type.id() == arrow::Type::TIMESTAMP;
}

NumberColumn::NumberColumn(const arrow::Array& array) : plain_(plainNumbers(array)) {
  withNumberType(*plain_->type(), [&](auto zero) {
    using T = decltype(zero);
    values_ = plain_->data()->template GetValues<T>(1);
    read_ = [](const void* values, int64_t row) { return static_cast<double>(static_cast<const T*>(values)[row]); };
  });
}

}  // namespace bloomery::data
