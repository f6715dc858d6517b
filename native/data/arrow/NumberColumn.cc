#include "data/arrow/NumberColumn.h"

#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <cstring>

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

// The same rows and nulls with other values: `read` gives the one at a place of the first buffer of values.
template <typename T, typename Read>
std::shared_ptr<arrow::Array> remade(const arrow::Array& array, std::shared_ptr<arrow::DataType> type, Read read) {
  const arrow::ArrayData& from = *array.data();
  int64_t end = from.offset + from.length;
  auto values = arrow::AllocateBuffer(end * static_cast<int64_t>(sizeof(T)), arrow::system_memory_pool());
  if (!values.ok()) throw ResourceError(message("Out of memory for a column: ", values.status().message()));
  std::shared_ptr<arrow::Buffer> buffer = std::move(values).ValueUnsafe();
  T* to = reinterpret_cast<T*>(buffer->mutable_data());
  const uint8_t* source = from.buffers[1] == nullptr ? nullptr : from.buffers[1]->data();
  for (int64_t i = from.offset; i < end; ++i) to[i] = read(source, i);
  return arrow::MakeArray(arrow::ArrayData::Make(std::move(type), from.length, {from.buffers[0], std::move(buffer)},
                                                 from.null_count, from.offset));
}

template <typename T>
T at(const uint8_t* source, int64_t i) {
  T value;
  std::memcpy(&value, source + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <typename Decimal>
std::shared_ptr<arrow::Array> doublesOf(const arrow::Array& array) {
  const auto& type = static_cast<const arrow::DecimalType&>(*array.type());
  return remade<double>(array, arrow::float64(), [&](const uint8_t* source, int64_t i) {
    return Decimal(source + static_cast<size_t>(i) * static_cast<size_t>(type.byte_width())).ToDouble(type.scale());
  });
}

// The same memory under another type.
std::shared_ptr<arrow::Array> seenAs(const arrow::Array& array, std::shared_ptr<arrow::DataType> type) {
  auto data = array.data()->Copy();
  data->type = std::move(type);
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> plainNumbers(const arrow::Array& array) {
  const arrow::DataType& type = *array.type();
  switch (type.id()) {
    case arrow::Type::BOOL:
      return remade<uint8_t>(array, arrow::uint8(), [](const uint8_t* source, int64_t i) -> uint8_t {
        return arrow::bit_util::GetBit(source, i) ? 1 : 0;
      });
    case arrow::Type::DECIMAL128:
      return doublesOf<arrow::Decimal128>(array);
    case arrow::Type::DECIMAL256:
      return doublesOf<arrow::Decimal256>(array);
    case arrow::Type::HALF_FLOAT:
      return remade<float>(array, arrow::float32(), [](const uint8_t* source, int64_t i) {
        return arrow::util::Float16::FromBits(at<uint16_t>(source, i)).ToFloat();
      });
    case arrow::Type::DATE32:
      return seenAs(array, arrow::int32());
    case arrow::Type::DATE64:
      return remade<double>(array, arrow::float64(), [](const uint8_t* source, int64_t i) {
        return static_cast<double>(at<int64_t>(source, i)) / kMillisOfDay;
      });
    case arrow::Type::TIMESTAMP: {
      double unit = secondsOf(static_cast<const arrow::TimestampType&>(type).unit());
      return remade<double>(array, arrow::float64(), [unit](const uint8_t* source, int64_t i) {
        return static_cast<double>(at<int64_t>(source, i)) / unit;
      });
    }
    default:
      return arrow::MakeArray(array.data());
  }
}

}  // namespace

bool isNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || type.id() == arrow::Type::DECIMAL128 ||
         type.id() == arrow::Type::DECIMAL256;
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
