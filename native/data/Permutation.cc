#include "data/Permutation.h"

#include <algorithm>
#include <bit>

namespace bloomery::data {

namespace {

constexpr int kRounds = 6;  // even, so that the halves end where they began
// Tiny domains are walked inside this one: a network over one or two bits would know hardly any permutation.
constexpr int kMinBits = 6;

uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }

uint64_t roundValue(uint64_t half, uint64_t key, int round) {
  uint64_t x = (half ^ key) + static_cast<uint64_t>(round + 1) * 0x9E3779B97F4A7C15ull;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return x >> 32;
}

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t key) : size_(size), key_(key) {
  int bits = std::max(kMinBits, static_cast<int>(std::bit_width(size == 0 ? 0 : size - 1)));
  lowBits_ = bits / 2;
  highBits_ = bits - lowBits_;
}

uint64_t Permutation::forward(uint64_t value) const {
  uint64_t low = value & mask(lowBits_), high = value >> lowBits_;
  for (int round = 0; round < kRounds; round += 2) {
    high ^= roundValue(low, key_, round) & mask(highBits_);
    low ^= roundValue(high, key_, round + 1) & mask(lowBits_);
  }
  return (high << lowBits_) | low;
}

uint64_t Permutation::backward(uint64_t value) const {
  uint64_t low = value & mask(lowBits_), high = value >> lowBits_;
  for (int round = kRounds; round > 0; round -= 2) {
    low ^= roundValue(high, key_, round - 1) & mask(lowBits_);
    high ^= roundValue(low, key_, round - 2) & mask(highBits_);
  }
  return (high << lowBits_) | low;
}

uint64_t Permutation::at(uint64_t index) const {
  do index = forward(index);
  while (index >= size_);
  return index;
}

uint64_t Permutation::inverse(uint64_t value) const {
  do value = backward(value);
  while (value >= size_);
  return value;
}

}  // namespace bloomery::data
