// The pieces of WinogradPieces.h for one vector level. Included by one source file for each, which says what a vector
// is: BLOOMERY_TARGET, the attribute of every function here, and BLOOMERY_LANES, the floats of a vector.
//
// The points are 0, a, -a, b, -b and infinity with a = sqrt(1/2) and b = sqrt(2): with them the error is twice that of
// the direct sum, where that of the usual 1 and 2 is four times, at the same number of operations.
#pragma once

#include <array>
#include <cstring>
#include <utility>

#include "nn/kernels/WinogradPieces.h"

#define BLOOMERY_INLINE BLOOMERY_TARGET __attribute__((always_inline)) inline

namespace bloomery::nn {

namespace {

constexpr int64_t kLanes = BLOOMERY_LANES;
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
using Places = int32_t __attribute__((vector_size(kLanes * sizeof(float))));

constexpr float kA = 0.70710678118654752f, kA2 = 0.5f, kA3 = kA * kA2;
constexpr float kB = 1.41421356237309505f, kB2 = 2.0f, kB3 = kB * kB2;
constexpr float kBoth = kA2 + kB2;
// What Lagrange divides by at a and b, the same at -a and -b; 1 at 0.
constexpr float kAtA = -1 / 1.5f, kAtB = 1 / 6.0f;

BLOOMERY_INLINE Vector load(const float* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

BLOOMERY_INLINE void store(Vector vector, float* to) { std::memcpy(to, &vector, sizeof(vector)); }

// Along one axis: six values of the input at the six points.
struct OfInput {
  static constexpr int kFrom = 6, kTo = 6;
  BLOOMERY_INLINE static void run(const Vector (&d)[6], Vector (&to)[6]) {
    Vector evenA = d[4] - kB2 * d[2], oddA = d[3] - kB2 * d[1];
    Vector evenB = d[4] - kA2 * d[2], oddB = d[3] - kA2 * d[1];
    to[0] = d[0] + d[4] - kBoth * d[2];
    to[1] = evenA + kA * oddA;
    to[2] = evenA - kA * oddA;
    to[3] = evenB + kB * oddB;
    to[4] = evenB - kB * oddB;
    to[5] = d[1] + d[5] - kBoth * d[3];
  }
};

// The kernel as a polynomial at the points.
struct OfKernel {
  static constexpr int kFrom = 3, kTo = 6;
  BLOOMERY_INLINE static void run(const Vector (&g)[3], Vector (&to)[6]) {
    Vector evenA = kAtA * g[0] + (kAtA * kA2) * g[2], oddA = (kAtA * kA) * g[1];
    Vector evenB = kAtB * g[0] + (kAtB * kB2) * g[2], oddB = (kAtB * kB) * g[1];
    to[0] = g[0];
    to[1] = evenA + oddA;
    to[2] = evenA - oddA;
    to[3] = evenB + oddB;
    to[4] = evenB - oddB;
    to[5] = g[2];
  }
};

// Four values of the output from the products at the points.
struct ToOutput {
  static constexpr int kFrom = 6, kTo = 4;
  BLOOMERY_INLINE static void run(const Vector (&m)[6], Vector (&to)[4]) {
    Vector evenA = m[1] + m[2], oddA = m[1] - m[2], evenB = m[3] + m[4], oddB = m[3] - m[4];
    to[0] = m[0] + evenA + evenB;
    to[1] = kA * oddA + kB * oddB;
    to[2] = kA2 * evenA + kB2 * evenB;
    to[3] = m[5] + kA3 * oddA + kB3 * oddB;
  }
};

// The transposes of the last two, for the gradient of the kernel.
struct OfOutputGradient {
  static constexpr int kFrom = 4, kTo = 6;
  BLOOMERY_INLINE static void run(const Vector (&d)[4], Vector (&to)[6]) {
    Vector evenA = d[0] + kA2 * d[2], oddA = kA * d[1] + kA3 * d[3];
    Vector evenB = d[0] + kB2 * d[2], oddB = kB * d[1] + kB3 * d[3];
    to[0] = d[0];
    to[1] = evenA + oddA;
    to[2] = evenA - oddA;
    to[3] = evenB + oddB;
    to[4] = evenB - oddB;
    to[5] = d[3];
  }
};

struct ToKernelGradient {
  static constexpr int kFrom = 6, kTo = 3;
  BLOOMERY_INLINE static void run(const Vector (&u)[6], Vector (&to)[3]) {
    Vector evenA = u[1] + u[2], oddA = u[1] - u[2], evenB = u[3] + u[4], oddB = u[3] - u[4];
    to[0] = u[0] + kAtA * evenA + kAtB * evenB;
    to[1] = (kAtA * kA) * oddA + (kAtB * kB) * oddB;
    to[2] = u[5] + (kAtA * kA2) * evenA + (kAtB * kB2) * evenB;
  }
};

// Along both axes: value (row, column) of `from` is at row * rowStride + column * columnStride.
template <typename Transform>
BLOOMERY_INLINE void transform(const float* from, int64_t rowStride, int64_t columnStride,
                               Vector (&to)[Transform::kTo][Transform::kTo]) {
  Vector half[Transform::kTo][Transform::kFrom];
#pragma GCC unroll 6
  for (int column = 0; column < Transform::kFrom; ++column) {
    Vector values[Transform::kFrom], points[Transform::kTo];
#pragma GCC unroll 6
    for (int row = 0; row < Transform::kFrom; ++row) {
      values[row] = load(from + row * rowStride + column * columnStride);
    }
    Transform::run(values, points);
#pragma GCC unroll 6
    for (int row = 0; row < Transform::kTo; ++row) half[row][column] = points[row];
  }
#pragma GCC unroll 6
  for (int row = 0; row < Transform::kTo; ++row) Transform::run(half[row], to[row]);
}

template <typename Transform>
BLOOMERY_INLINE void transformToPoints(const float* from, int64_t rowStride, int64_t columnStride, float* to,
                                       int64_t stride) {
  static_assert(Transform::kTo == kInputTile);
  Vector points[Transform::kTo][Transform::kTo];
  transform<Transform>(from, rowStride, columnStride, points);
#pragma GCC unroll 6
  for (int row = 0; row < Transform::kTo; ++row) {
#pragma GCC unroll 6
    for (int column = 0; column < Transform::kTo; ++column) {
      store(points[row][column], to + (row * kInputTile + column) * stride);
    }
  }
}

// The tile to the right comes next: the pixels of it that are not in this one, a short run in each row, are more than
// the processor fetches ahead by itself.
template <int64_t kSize>
BLOOMERY_INLINE void fetchNext(const float* image, const WinogradStrides& strides, const WinogradWindow& window) {
  for (int64_t row = window.top; row < window.bottom; ++row) {
#pragma GCC unroll 4
    for (int64_t column = kSize; column < kSize + kTile; ++column) {
      __builtin_prefetch(image + row * strides.row + column * strides.pixel);
    }
  }
}

// The tile of an image, or, where a part of it lies outside, a copy with zeros.
template <typename Transform>
BLOOMERY_INLINE void transformTile(const float* image, const WinogradStrides& strides, const WinogradWindow& window,
                                   int64_t numVectors, float* to, int64_t stride, int64_t vectorStride) {
  constexpr int64_t kSize = Transform::kFrom;
  if (window.top == 0 && window.left == 0 && window.bottom == kSize && window.right == kSize) {
    for (int64_t i = 0; i < numVectors; ++i) {
      fetchNext<kSize>(image + i * strides.vector, strides, window);
      transformToPoints<Transform>(image + i * strides.vector, strides.row, strides.pixel, to + i * vectorStride,
                                   stride);
    }
    return;
  }
  float copy[kSize * kSize * kLanes] = {};
  for (int64_t i = 0; i < numVectors; ++i) {
    fetchNext<kSize>(image + i * strides.vector, strides, window);
    for (int64_t row = window.top; row < window.bottom; ++row) {
      for (int64_t column = window.left; column < window.right; ++column) {
        store(load(image + i * strides.vector + row * strides.row + column * strides.pixel),
              copy + (row * kSize + column) * kLanes);
      }
    }
    transformToPoints<Transform>(copy, kSize * kLanes, kLanes, to + i * vectorStride, stride);
  }
}

BLOOMERY_TARGET void transformInput(const float* image, const WinogradStrides& strides, const WinogradWindow& window,
                                    int64_t numVectors, float* to, int64_t stride, int64_t vectorStride) {
  transformTile<OfInput>(image, strides, window, numVectors, to, stride, vectorStride);
}

BLOOMERY_TARGET void transformOutputGradient(const float* image, const WinogradStrides& strides,
                                             const WinogradWindow& window, float* to, int64_t stride, float* sums) {
  Vector sum = {};
  for (int64_t row = 0; row < window.bottom; ++row) {
    for (int64_t column = 0; column < window.right; ++column) {
      sum += load(image + row * strides.row + column * strides.pixel);
    }
  }
  store(sum, sums);
  transformTile<OfOutputGradient>(image, strides, window, 1, to, stride, 0);
}

BLOOMERY_TARGET void transformOutput(const float* products, int64_t stride, const WinogradEnding& ending, float* image,
                                     const WinogradStrides& strides, const WinogradWindow& window) {
  Vector values[kTile][kTile];
  transform<ToOutput>(products, kInputTile * stride, stride, values);
  Vector scale = ending.scale == nullptr ? Vector{} + 1.0f : load(ending.scale);
  Vector shift = ending.shift == nullptr ? Vector{} : load(ending.shift);
  float least = ending.relu ? 0.0f : -__builtin_inff();
#pragma GCC unroll 4
  for (auto& row : values) {
#pragma GCC unroll 4
    for (Vector& value : row) {
      value = value * scale + shift;
      value = value < least ? Vector{} + least : value;
    }
  }
  if (window.bottom == kTile && window.right == kTile) {
#pragma GCC unroll 4
    for (int64_t row = 0; row < kTile; ++row) {
#pragma GCC unroll 4
      for (int64_t column = 0; column < kTile; ++column) {
        store(values[row][column], image + row * strides.row + column * strides.pixel);
      }
    }
    return;
  }
  for (int64_t row = 0; row < window.bottom; ++row) {
    for (int64_t column = 0; column < window.right; ++column) {
      store(values[row][column], image + row * strides.row + column * strides.pixel);
    }
  }
}

// Rows become columns: interleaving the halves as often as kLanes can be halved.
BLOOMERY_INLINE void transpose(Vector (&rows)[kLanes]) {
  Places low = {}, high = {};
  for (int32_t i = 0; i < kLanes; ++i) {
    low[i] = i / 2 + i % 2 * static_cast<int32_t>(kLanes);
    high[i] = low[i] + static_cast<int32_t>(kLanes) / 2;
  }
#pragma GCC unroll 4
  for (int64_t size = kLanes; size > 1; size /= 2) {
    Vector next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = __builtin_shuffle(rows[i], rows[i + kLanes / 2], low);
      next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + kLanes / 2], high);
    }
    std::memcpy(&rows, &next, sizeof(rows));
  }
}

BLOOMERY_TARGET void gatherKernel(const float* kernel, int64_t channels, int64_t filters, bool flipped, int64_t first,
                                  int numVectors, float* to) {
  int64_t width = numVectors * kLanes, size = channels * filters;
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    const float* from = kernel + (flipped ? kTaps - 1 - tap : tap) * size;
    if (!flipped) {
      for (int64_t channel = 0; channel < channels; ++channel, to += width) {
        for (int64_t i = 0; i < width; i += kLanes) store(load(from + channel * filters + first + i), to + i);
      }
      continue;
    }
    for (int64_t filter = 0; filter < filters; filter += kLanes, to += kLanes * width) {
      for (int64_t i = 0; i < width; i += kLanes) {
        Vector rows[kLanes];
        for (int64_t row = 0; row < kLanes; ++row) rows[row] = load(from + (first + i + row) * filters + filter);
        transpose(rows);
        for (int64_t row = 0; row < kLanes; ++row) store(rows[row], to + row * width + i);
      }
    }
  }
}

// The rows of OfKernel's matrix.
constexpr float kOfKernel[kInputTile][3] = {{1, 0, 0},
                                            {kAtA, kAtA* kA, kAtA* kA2},
                                            {kAtA, -kAtA* kA, kAtA* kA2},
                                            {kAtB, kAtB* kB, kAtB* kB2},
                                            {kAtB, -kAtB* kB, kAtB* kB2},
                                            {0, 0, 1}};

BLOOMERY_TARGET void transformKernel(const float* taps, int64_t size, int64_t row, float* to) {
  const float* factors = kOfKernel[row];
  for (int64_t i = 0; i < size; i += kLanes) {
    Vector half[3], points[kInputTile];
#pragma GCC unroll 3
    for (int column = 0; column < 3; ++column) {
      const float* from = taps + column * size + i;
      half[column] = factors[0] * load(from) + factors[1] * load(from + 3 * size) + factors[2] * load(from + 6 * size);
    }
    OfKernel::run(half, points);
#pragma GCC unroll 6
    for (int point = 0; point < kInputTile; ++point) store(points[point], to + point * size + i);
  }
}

// The sums of kRows x kVectors vectors stay in registers.
template <int kRows, int kVectors>
BLOOMERY_TARGET void multiply(const float* tiles, const float* kernel, int64_t channels, float* products) {
  Vector sums[kRows][kVectors] = {};
  for (int64_t first = 0; first < channels; first += kLanes) {
#pragma GCC unroll 2
    for (int64_t channel = 0; channel < kLanes; ++channel) {
      Vector factors[kVectors];
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) factors[i] = load(kernel + i * kLanes);
#pragma GCC unroll 14
      for (int row = 0; row < kRows; ++row) {
        float value = tiles[row * kLanes + channel];
#pragma GCC unroll 2
        for (int i = 0; i < kVectors; ++i) sums[row][i] += value * factors[i];
      }
      kernel += kVectors * kLanes;
    }
    tiles += kRows * kLanes;
  }
#pragma GCC unroll 14
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) store(sums[row][i], products + (row * kVectors + i) * kLanes);
  }
}

using Multiply = void (*)(const float*, const float*, int64_t, float*);
template <int kVectors, int... kRows>
constexpr std::array<Multiply, sizeof...(kRows)> multiplies(std::integer_sequence<int, kRows...>) {
  return {multiply<kRows + 1, kVectors>...};
}

constexpr int kMaxTiles = kLanes == 16 ? 14 : 6;  // two vectors each fill the registers
constexpr auto kMultiplyOne = multiplies<1>(std::make_integer_sequence<int, kMaxTiles>());
constexpr auto kMultiplyTwo = multiplies<2>(std::make_integer_sequence<int, kMaxTiles>());

void product(int64_t numTiles, int numVectors, const float* tiles, const float* kernel, int64_t channels,
             float* products) {
  const auto& multiplyAll = numVectors == 2 ? kMultiplyTwo : kMultiplyOne;
  multiplyAll[static_cast<size_t>(numTiles - 1)](tiles, kernel, channels, products);
}

// So many channels that their sums stay in registers and, at all points, in the first cache.
template <int kVectors>
BLOOMERY_TARGET void addKernelGradient(int64_t numTiles, int64_t numSlots, const float* input, const float* gradient,
                                       bool add, int64_t channels, int64_t filters, float* kernelGradient) {
  constexpr int kChannels = kLanes / kVectors, kWidth = kVectors * kLanes;
  float sums[kPoints][kChannels * kWidth];
  for (int64_t point = 0; point < kPoints; ++point) {
    Vector ofPoint[kChannels][kVectors] = {};
    const float *values = input + point * numSlots * kLanes, *factors = gradient + point * numSlots * kWidth;
    for (int64_t tile = 0; tile < numTiles; ++tile) {
      Vector factor[kVectors];
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) factor[i] = load(factors + i * kLanes);
#pragma GCC unroll 16
      for (int channel = 0; channel < kChannels; ++channel) {
#pragma GCC unroll 2
        for (int i = 0; i < kVectors; ++i) ofPoint[channel][i] += values[channel] * factor[i];
      }
      values += kLanes;
      factors += kWidth;
    }
    std::memcpy(sums[point], &ofPoint, sizeof(ofPoint));
  }
  for (int64_t channel = 0; channel < kChannels; ++channel) {
    for (int64_t i = 0; i < kWidth; i += kLanes) {
      Vector taps[3][3];
      transform<ToKernelGradient>(sums[0] + channel * kWidth + i, kInputTile * kChannels * kWidth, kChannels * kWidth,
                                  taps);
      float* to = kernelGradient + channel * filters + i;
      for (int64_t tap = 0; tap < kTaps; ++tap, to += channels * filters) {
        store(add ? load(to) + taps[tap / 3][tap % 3] : taps[tap / 3][tap % 3], to);
      }
    }
  }
}

void kernelGradient(int64_t numTiles, int64_t numSlots, int numVectors, const float* input, const float* gradient,
                    bool add, int64_t channels, int64_t filters, float* result) {
  if (numVectors == 1) return addKernelGradient<1>(numTiles, numSlots, input, gradient, add, channels, filters, result);
  for (int64_t half = 0; half < kLanes; half += kLanes / 2) {
    addKernelGradient<2>(numTiles, numSlots, input + half, gradient, add, channels, filters, result + half * filters);
  }
}

constexpr WinogradPieces kPieces = {kLanes,          kMaxTiles,    transformInput,  transformOutputGradient,
                                    transformOutput, gatherKernel, transformKernel, product,
                                    kernelGradient};

}  // namespace

}  // namespace bloomery::nn
