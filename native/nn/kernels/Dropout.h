// Dropout as a pure function of (key, row id, element): the same elements of a row are dropped wherever and in
// whatever batch the row is processed. Elements count in the canonical, channels-last order.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/Simd.h"

namespace bloomery::nn {

struct DropoutRule {
  DropoutRule(double rate, uint64_t seed, std::string_view layer);

  uint64_t keyFor(int64_t epoch) const;

  uint64_t layerKey;
  uint32_t threshold;  // an element whose 32 random bits are below is dropped
  float scale;         // of the kept ones: 1 / (1 - rate)
};

// The definition: elements come in groups of 32 = 8 Philox blocks x 4 words, word by word, so that eight blocks fill a
// vector register side by side.
bool dropoutKeeps(const DropoutRule& rule, uint64_t key, uint64_t rowId, int64_t element);

// Bytes of the mask of one row, one bit an element, whole groups.
constexpr int64_t dropoutMaskBytes(int64_t size) { return (size + 31) / 32 * 4; }

// values[i] becomes scaled or zero; the mask's bit i, where a mask is wanted, says which.
void dropRow(const DropoutRule& rule, uint64_t key, uint64_t rowId, float* values, int64_t size, uint8_t* mask,
             SimdLevel level = simdLevel());

// The same for gradients, by a mask that dropRow made.
void dropRowByMask(const DropoutRule& rule, const uint8_t* mask, float* gradients, int64_t size);

// The same where the values themselves tell: after a ReLU, what was dropped or cut off is zero, and its gradient too.
void dropRowByValues(const DropoutRule& rule, const float* values, float* gradients, int64_t size);

}  // namespace bloomery::nn
