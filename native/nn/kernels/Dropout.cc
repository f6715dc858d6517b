#include "nn/kernels/Dropout.h"

#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "base/Random.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kGroup = 32, kBlocks = 8;

// The bits of one group of 32 elements that are kept.
uint32_t keptBaseline(uint64_t key, uint64_t rowId, uint64_t group, uint32_t threshold) {
  uint32_t kept = 0;
  for (uint64_t lane = 0; lane < kBlocks; ++lane) {
    RandomBlock words = philox(key, rowId, group * kBlocks + lane);
    for (uint64_t word = 0; word < 4; ++word) {
      kept |= static_cast<uint32_t>(words[word] >= threshold) << (word * kBlocks + lane);
    }
  }
  return kept;
}

void applyBaseline(uint32_t kept, float scale, float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = (kept >> i & 1) != 0 ? values[i] * scale : 0.0f;
}

#define BLOOMERY_AVX2 __attribute__((target("avx2")))

// The counters of four Philox blocks, one in each 64-bit lane. Only the lower half of a lane counts: a product's upper
// half may stay where it is.
struct Counters {
  __m256i c0, c1, c2, c3;
};

BLOOMERY_AVX2 inline Counters philoxRound(const Counters& c, uint32_t key0, uint32_t key1) {
  __m256i product0 = _mm256_mul_epu32(c.c0, _mm256_set1_epi64x(0xD2511F53));
  __m256i product1 = _mm256_mul_epu32(c.c2, _mm256_set1_epi64x(0xCD9E8D57));
  __m256i high0 = _mm256_srli_epi64(product0, 32), high1 = _mm256_srli_epi64(product1, 32);
  return {_mm256_xor_si256(_mm256_xor_si256(high1, c.c1), _mm256_set1_epi64x(key0)), product1,
          _mm256_xor_si256(_mm256_xor_si256(high0, c.c3), _mm256_set1_epi64x(key1)), product0};
}

BLOOMERY_AVX2 inline __m256i interleave(__m256i even, __m256i odd) {
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

// Eight Philox blocks at once: base/Random.h's philox for the counters (rowId, 8 * group + lane).
BLOOMERY_AVX2 inline void philox8(uint64_t key, uint64_t rowId, uint64_t group, __m256i words[4]) {
  uint64_t block = group * kBlocks;  // a multiple of 8: adding a lane never carries
  __m256i c0 = _mm256_set1_epi64x(static_cast<int64_t>(rowId)), c1 = _mm256_srli_epi64(c0, 32);
  __m256i c2 = _mm256_set1_epi64x(static_cast<int64_t>(block)), c3 = _mm256_srli_epi64(c2, 32);
  Counters even{c0, c1, _mm256_or_si256(c2, _mm256_setr_epi64x(0, 2, 4, 6)), c3};
  Counters odd{c0, c1, _mm256_or_si256(c2, _mm256_setr_epi64x(1, 3, 5, 7)), c3};
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    even = philoxRound(even, key0, key1);
    odd = philoxRound(odd, key0, key1);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  words[0] = interleave(even.c0, odd.c0);
  words[1] = interleave(even.c1, odd.c1);
  words[2] = interleave(even.c2, odd.c2);
  words[3] = interleave(even.c3, odd.c3);
}

BLOOMERY_AVX2 inline __m256i atLeast(__m256i bits, __m256i threshold) {
  return _mm256_cmpeq_epi32(_mm256_max_epu32(bits, threshold), bits);
}

BLOOMERY_AVX2 void dropRowAvx2(const DropoutRule& rule, uint64_t key, uint64_t rowId, float* values, int64_t size,
                               uint8_t* mask) {
  const __m256i threshold = _mm256_set1_epi32(static_cast<int>(rule.threshold));
  const __m256 scale = _mm256_set1_ps(rule.scale);
  for (int64_t group = 0; group * kGroup < size; ++group) {
    __m256i words[4];
    philox8(key, rowId, static_cast<uint64_t>(group), words);
    float* first = values + group * kGroup;
    int64_t count = size - group * kGroup;
    uint32_t kept = 0;
    for (int word = 0; word < 4; ++word) {
      __m256 keeps = _mm256_castsi256_ps(atLeast(words[word], threshold));
      kept |= static_cast<uint32_t>(_mm256_movemask_ps(keeps)) << (word * 8);
      if (count < kGroup) continue;
      float* eight = first + word * 8;
      _mm256_storeu_ps(eight, _mm256_and_ps(_mm256_mul_ps(_mm256_loadu_ps(eight), scale), keeps));
    }
    if (count < kGroup) applyBaseline(kept, rule.scale, first, count);
    if (mask != nullptr) std::memcpy(mask + group * 4, &kept, sizeof(kept));
  }
}

void dropRowBaseline(const DropoutRule& rule, uint64_t key, uint64_t rowId, float* values, int64_t size,
                     uint8_t* mask) {
  for (int64_t group = 0; group * kGroup < size; ++group) {
    uint32_t kept = keptBaseline(key, rowId, static_cast<uint64_t>(group), rule.threshold);
    applyBaseline(kept, rule.scale, values + group * kGroup, std::min(kGroup, size - group * kGroup));
    if (mask != nullptr) std::memcpy(mask + group * 4, &kept, sizeof(kept));
  }
}

BLOOMERY_AVX2 void dropRowByMaskAvx2(const DropoutRule& rule, const uint8_t* mask, float* gradients, int64_t size) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256 scale = _mm256_set1_ps(rule.scale);
  int64_t whole = size / 8 * 8;
  for (int64_t i = 0; i < whole; i += 8) {
    __m256i keeps = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask[i / 8]), bits), bits);
    __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(gradients + i), scale);
    _mm256_storeu_ps(gradients + i, _mm256_and_ps(scaled, _mm256_castsi256_ps(keeps)));
  }
  if (whole < size) applyBaseline(mask[whole / 8], rule.scale, gradients + whole, size - whole);
}

BLOOMERY_AVX2 void dropRowByValuesAvx2(const DropoutRule& rule, const float* values, float* gradients, int64_t size) {
  const __m256 scale = _mm256_set1_ps(rule.scale);
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    __m256 keeps = _mm256_cmp_ps(_mm256_loadu_ps(values + i), _mm256_setzero_ps(), _CMP_GT_OQ);
    __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(gradients + i), scale);
    _mm256_storeu_ps(gradients + i, _mm256_and_ps(scaled, keeps));
  }
  for (; i < size; ++i) gradients[i] = values[i] > 0.0f ? gradients[i] * rule.scale : 0.0f;
}

}  // namespace

DropoutRule::DropoutRule(double rate, uint64_t seed, std::string_view layer)
    : layerKey(mixKey(mixKey(seed, "dropout"), layer)),
      threshold(static_cast<uint32_t>(std::floor(rate * 0x1p32))),
      scale(static_cast<float>(1.0 / (1.0 - rate))) {}

uint64_t DropoutRule::keyFor(int64_t epoch) const { return mixKey(layerKey, static_cast<uint64_t>(epoch)); }

bool dropoutKeeps(const DropoutRule& rule, uint64_t key, uint64_t rowId, int64_t element) {
  uint64_t group = static_cast<uint64_t>(element / kGroup), within = static_cast<uint64_t>(element % kGroup);
  return philox(key, rowId, group * kBlocks + within % kBlocks)[within / kBlocks] >= rule.threshold;
}

void dropRow(const DropoutRule& rule, uint64_t key, uint64_t rowId, float* values, int64_t size, uint8_t* mask,
             SimdLevel level) {
  auto* drop = level == SimdLevel::kAvx2 ? dropRowAvx2 : dropRowBaseline;
  drop(rule, key, rowId, values, size, mask);
}

void dropRowByMask(const DropoutRule& rule, const uint8_t* mask, float* gradients, int64_t size) {
  if (simdLevel() == SimdLevel::kAvx2) return dropRowByMaskAvx2(rule, mask, gradients, size);
  for (int64_t i = 0; i < size; ++i) {
    gradients[i] = (mask[i / 8] >> (i % 8) & 1) != 0 ? gradients[i] * rule.scale : 0.0f;
  }
}

void dropRowByValues(const DropoutRule& rule, const float* values, float* gradients, int64_t size) {
  if (simdLevel() == SimdLevel::kAvx2) return dropRowByValuesAvx2(rule, values, gradients, size);
  for (int64_t i = 0; i < size; ++i) gradients[i] = values[i] > 0.0f ? gradients[i] * rule.scale : 0.0f;
}

}  // namespace bloomery::nn
