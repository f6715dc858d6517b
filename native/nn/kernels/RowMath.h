// Plain arithmetic over rows of floats, written so that the vectoriser makes the most of it: element-wise loops, and
// sums and maxima in eight lanes. Always inlined into kernels that are compiled for several vector levels (see
// base/SimdLoops.h); the bits are the same on each.
#pragma once

#include <bit>
#include <cstdint>

namespace bloomery::nn {

#define BLOOMERY_INLINE [[gnu::always_inline]] inline

inline constexpr int64_t kLanes = 8;

// exp(x) for x <= 0, to about two units in the last place. Below -80 it is 0: such a share counts for nothing, and
// behind it numbers become subnormal and slow. NaN stays NaN.
BLOOMERY_INLINE float exponential(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  float shifted = x * 1.44269504f + kRound;
  float whole = shifted - kRound;
  float rest = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  float series = 1.9875691500e-4f;
  series = series * rest + 1.3981999507e-3f;
  series = series * rest + 8.3334519073e-3f;
  series = series * rest + 4.1665795894e-2f;
  series = series * rest + 1.6666665459e-1f;
  series = series * rest + 5.0000001201e-1f;
  series = series * rest * rest + rest + 1.0f;
  uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound) + 127u;
  float result = series * std::bit_cast<float>(exponent << 23);
  return x < -80.0f ? 0.0f : result;
}

BLOOMERY_INLINE float sigmoid(float x) {
  float tail = exponential(x < 0.0f ? x : -x);
  return (x < 0.0f ? tail : 1.0f) / (1.0f + tail);
}

// An odd polynomial near zero, where 1 - e^-2x would cancel. Relative error below 3e-7.
BLOOMERY_INLINE float hyperbolicTangent(float x) {
  float square = x * x;
  float series = -5.70498872745e-3f;
  series = series * square + 2.06390887954e-2f;
  series = series * square - 5.37397155531e-2f;
  series = series * square + 1.33314422036e-1f;
  series = series * square - 3.33332819422e-1f;
  float near = series * square * x + x;
  float tail = exponential(x < 0.0f ? 2.0f * x : -2.0f * x);
  float far = (1.0f - tail) / (1.0f + tail);
  return square < 0.390625f ? near : x < 0.0f ? -far : far;
}

BLOOMERY_INLINE float sumOf(const float* values, int64_t count) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += values[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// The largest value; NaN is passed over.
BLOOMERY_INLINE float largestOf(const float* values, int64_t count) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = values[0];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  float largest = lanes[0];
  for (float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

// How a softmax over one row is made: exp(value - largest) / sum.
struct SoftmaxShares {
  float largest;
  float sum;
};

inline constexpr int64_t kBlock = 256;  // floats of a row that kernels keep on the stack at a time

// Writes exp(value - largest) to `out` when it is not null; may be in place.
BLOOMERY_INLINE SoftmaxShares sharesOf(const float* logits, int64_t count, float* out = nullptr) {
  SoftmaxShares shares{largestOf(logits, count), 0.0f};
  float block[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    int64_t size = count - first < kBlock ? count - first : kBlock;
    float* values = out == nullptr ? block : out + first;
    for (int64_t i = 0; i < size; ++i) values[i] = exponential(logits[first + i] - shares.largest);
    shares.sum += sumOf(values, size);
  }
  return shares;
}

}  // namespace bloomery::nn
