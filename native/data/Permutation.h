// A pseudo-random permutation of 0 .. size-1, computed from a key without a table: a Feistel network over the next
// power of two, walked until it falls below `size`. A small value: copying and making it cost nanoseconds.
#pragma once

#include <cstdint>

namespace bloomery::data {

class Permutation {
 public:
  Permutation(uint64_t size, uint64_t key);
  uint64_t at(uint64_t index) const;       // index < size
  uint64_t inverse(uint64_t value) const;  // inverse(at(i)) == i

 private:
  uint64_t forward(uint64_t value) const;
  uint64_t backward(uint64_t value) const;

  uint64_t size_;
  uint64_t key_;
  int lowBits_;  // the network's two halves; together they hold every index below `size`
  int highBits_;
};

}  // namespace bloomery::data
