#include "data/Convert.h"

#include "base/Error.h"

namespace bloomery::data {

namespace {

template <typename T>
[[gnu::always_inline]] inline void convert(const std::byte* from, int64_t count, float scale, float* __restrict to) {
  const T* __restrict values = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(values[i]) * scale;
}

// One loop, compiled twice: the vectoriser makes of it what each instruction set allows.
template <typename T>
void convertPlain(const std::byte* from, int64_t count, float scale, float* to) {
  convert<T>(from, count, scale, to);
}

template <typename T>
[[gnu::target("avx2")]] void convertAvx2(const std::byte* from, int64_t count, float scale, float* to) {
  convert<T>(from, count, scale, to);
}

template <typename T>
ToFloat choose() {
  return __builtin_cpu_supports("avx2") ? convertAvx2<T> : convertPlain<T>;
}

}  // namespace

ToFloat toFloat(DType type) {
  switch (type) {
    case DType::kFloat32:
      return choose<float>();
    case DType::kFloat64:
      return choose<double>();
    case DType::kUint8:
      return choose<uint8_t>();
    case DType::kInt8:
      return choose<int8_t>();
    case DType::kInt16:
      return choose<int16_t>();
    case DType::kInt32:
      return choose<int32_t>();
    case DType::kInt64:
      return choose<int64_t>();
  }
  throw InternalError(message("Unknown element type: ", static_cast<int>(type)));
}

}  // namespace bloomery::data
