// e^x, sigmoid and tanh as plain arithmetic, so that loops over them become vector loops. Relative error below 3e-7;
// arguments are cut off where the result would leave the range of normal floats.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bloomery::nn {

[[gnu::always_inline]] inline float fastExp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // x = n ln 2 + r with |r| <= ln 2 / 2, and ln 2 in two parts so that r is exact; adding the magic number rounds.
  constexpr float kMagic = 12582912.0f;
  float shifted = x * 1.44269504088896341f + kMagic;
  float n = shifted - kMagic;
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kMagic);
  return p * std::bit_cast<float>((exponent + 127) << 23);
}

[[gnu::always_inline]] inline float fastSigmoid(float x) { return 1.0f / (1.0f + fastExp(-x)); }

// Odd polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
[[gnu::always_inline]] inline float fastTanh(float x) {
  float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  float near = p * square * x + x;
  float far = 1.0f - 2.0f / (fastExp(2.0f * x) + 1.0f);
  return square < 0.390625f ? near : far;
}

}  // namespace bloomery::nn
