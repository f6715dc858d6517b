#include "data/arrow/ValueConvert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "data/arrow/NumberColumn.h"

namespace bloomery::data {

namespace {

// Whether `value` arrives as itself.
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
  const From* values = static_cast<const From*>(from);
  To* results = reinterpret_cast<To*>(to);
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(To));
    return -1;
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>) {
    // All at once, without a branch; which one it was is asked only when one did not fit.
    bool fits = true;
    for (int64_t i = 0; i < count; ++i) {
      results[i] = static_cast<float>(values[i]);
      bool lost = std::abs(results[i]) == std::numeric_limits<float>::infinity() &&
                  std::abs(values[i]) != std::numeric_limits<double>::infinity();
      fits &= !lost;
    }
    if (fits) return -1;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!assign(values[i], results[i])) return i;
  }
  return -1;
}

template <typename T, typename Bits>
int64_t findNotFiniteOf(const std::byte* values, int64_t begin, int64_t count) {
  const T infinity = std::numeric_limits<T>::infinity();
  Bits exponent;
  std::memcpy(&exponent, &infinity, sizeof(T));
  auto isBad = [&](int64_t i) {
    Bits bits;
    std::memcpy(&bits, values + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return (bits & exponent) == exponent;
  };
  // As wide as the values, so that it takes as many of them at once as fit into a register.
  Bits any = 0;
  for (int64_t i = begin; i < count; ++i) any |= isBad(i) ? ~Bits{0} : Bits{0};
  if (any == 0) return -1;
  for (int64_t i = begin; i < count; ++i) {
    if (isBad(i)) return i;
  }
  return -1;
}

}  // namespace

ConvertValues converter(const arrow::DataType& from, DType to) {
  return withNumberType(from, [&](auto zero) -> ConvertValues {
    using From = decltype(zero);
    return withDType(to, [](auto result) -> ConvertValues { return convertAll<From, decltype(result)>; });
  });
}

int64_t findNotFinite(DType type, const std::byte* values, int64_t begin, int64_t count) {
  if (type == DType::kFloat32) return findNotFiniteOf<float, uint32_t>(values, begin, count);
  if (type == DType::kFloat64) return findNotFiniteOf<double, uint64_t>(values, begin, count);
  return -1;
}

}  // namespace bloomery::data
