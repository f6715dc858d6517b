#include "tensor/Halves.h"

#include <immintrin.h>

#include <bit>

#include "base/Error.h"

namespace bloomery {

namespace {

// Plain arithmetic, one number after the other: what every level must give.
struct Fp16 {
  static constexpr uint16_t kExponent = 0x7C00;

  [[gnu::always_inline]] static inline uint16_t from(float value) {
    constexpr uint32_t kInfinity = 0x7F800000, kTooLarge = 0x47800000, kSmallestNormal = 0x38800000;
    uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7FFFFFFF;
    auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= kTooLarge) return sign | kExponent;
    if (magnitude < kSmallestNormal) {
      // Beside 0.5 the last bit of a float weighs as much as that of a subnormal number here.
      float aligned = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - std::bit_cast<uint32_t>(0.5f)));
    }
    uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return static_cast<uint16_t>(sign | (rounded - (uint32_t{112} << 23)) >> 13);
  }

  [[gnu::always_inline]] static inline float to(uint16_t half) {
    uint32_t sign = uint32_t{half} << 16 & 0x80000000, magnitude = half & 0x7FFF;
    if (magnitude > kExponent) return std::bit_cast<float>(sign | 0x7FC00000 | (magnitude & 0x3FF) << 13);
    if (magnitude == kExponent) return std::bit_cast<float>(sign | 0x7F800000);
    if (magnitude < 0x400) {  // a multiple of 2^-24
      float value = static_cast<float>(magnitude) * 0x1p-24f;
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + (uint32_t{112} << 23)));
  }
};

struct Bf16 {
  static constexpr uint16_t kExponent = 0x7F80;

  [[gnu::always_inline]] static inline uint16_t from(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? bits >> 16 | 0x40 : rounded);
  }
  [[gnu::always_inline]] static inline float to(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }
};

// The loops, compiled for each level by the functions below; Format::from and ::to are inlined.
template <typename Format>
[[gnu::always_inline]] inline void convertTo(const float* from, size_t size, float scale, uint16_t* to) {
  for (size_t i = 0; i < size; ++i) to[i] = Format::from(from[i] * scale);
}

template <typename Format>
[[gnu::always_inline]] inline void convertFrom(const uint16_t* from, size_t size, float scale, float* to) {
  for (size_t i = 0; i < size; ++i) to[i] = Format::to(from[i]) * scale;
}

template <typename Format>
[[gnu::always_inline]] inline void add(const uint16_t* a, const uint16_t* b, size_t size, uint16_t* sums) {
  for (size_t i = 0; i < size; ++i) sums[i] = Format::from(Format::to(a[i]) + Format::to(b[i]));
}

// bf16 is whole-number arithmetic that the compiler makes vectors of; for fp16 the processor has instructions.
#define BLOOMERY_AVX2 __attribute__((target("avx2,f16c")))

BLOOMERY_AVX2 void bf16ToAvx2(const float* from, size_t size, float scale, uint16_t* to) {
  convertTo<Bf16>(from, size, scale, to);
}

BLOOMERY_AVX2 void bf16FromAvx2(const uint16_t* from, size_t size, float scale, float* to) {
  convertFrom<Bf16>(from, size, scale, to);
}

BLOOMERY_AVX2 void bf16AddAvx2(const uint16_t* a, const uint16_t* b, size_t size, uint16_t* sums) {
  add<Bf16>(a, b, size, sums);
}

constexpr size_t kLanes = 8;

BLOOMERY_AVX2 inline __m256 loadHalves(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

BLOOMERY_AVX2 inline void storeHalves(uint16_t* to, __m256 values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}

BLOOMERY_AVX2 void fp16ToAvx2(const float* from, size_t size, float scale, uint16_t* to) {
  size_t whole = size / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    storeHalves(to + i, _mm256_mul_ps(_mm256_loadu_ps(from + i), _mm256_set1_ps(scale)));
  }
  convertTo<Fp16>(from + whole, size - whole, scale, to + whole);
}

BLOOMERY_AVX2 void fp16FromAvx2(const uint16_t* from, size_t size, float scale, float* to) {
  size_t whole = size / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    _mm256_storeu_ps(to + i, _mm256_mul_ps(loadHalves(from + i), _mm256_set1_ps(scale)));
  }
  convertFrom<Fp16>(from + whole, size - whole, scale, to + whole);
}

BLOOMERY_AVX2 void fp16AddAvx2(const uint16_t* a, const uint16_t* b, size_t size, uint16_t* sums) {
  size_t whole = size / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    storeHalves(sums + i, _mm256_add_ps(loadHalves(a + i), loadHalves(b + i)));
  }
  add<Fp16>(a + whole, b + whole, size - whole, sums + whole);
}

#undef BLOOMERY_AVX2

bool isFp16(HalfFormat format) { return format == HalfFormat::kFp16; }

}  // namespace

void toHalves(HalfFormat format, SimdLevel level, std::span<const float> from, float scale, std::span<uint16_t> to) {
  check(from.size() == to.size(), "Not as many: ", from.size(), " and ", to.size());
  if (level == SimdLevel::kAvx2) {
    return (isFp16(format) ? fp16ToAvx2 : bf16ToAvx2)(from.data(), from.size(), scale, to.data());
  }
  (isFp16(format) ? convertTo<Fp16> : convertTo<Bf16>)(from.data(), from.size(), scale, to.data());
}

void fromHalves(HalfFormat format, SimdLevel level, std::span<const uint16_t> from, float scale, std::span<float> to) {
  check(from.size() == to.size(), "Not as many: ", from.size(), " and ", to.size());
  if (level == SimdLevel::kAvx2) {
    return (isFp16(format) ? fp16FromAvx2 : bf16FromAvx2)(from.data(), from.size(), scale, to.data());
  }
  (isFp16(format) ? convertFrom<Fp16> : convertFrom<Bf16>)(from.data(), from.size(), scale, to.data());
}

void addHalves(HalfFormat format, SimdLevel level, const uint16_t* a, const uint16_t* b, size_t size, uint16_t* sums) {
  if (level == SimdLevel::kAvx2) return (isFp16(format) ? fp16AddAvx2 : bf16AddAvx2)(a, b, size, sums);
  (isFp16(format) ? add<Fp16> : add<Bf16>)(a, b, size, sums);
}

bool allFinite(HalfFormat format, std::span<const uint16_t> values) {
  uint16_t exponent = isFp16(format) ? Fp16::kExponent : Bf16::kExponent;
  uint32_t numNotFinite = 0;
  for (uint16_t value : values) numNotFinite += (value & exponent) == exponent ? 1 : 0;
  return numNotFinite == 0;
}

}  // namespace bloomery
