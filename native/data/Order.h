// The order in which an epoch visits rows: a permutation computed from (seed, epoch) without a table, in two levels:
// a Feistel permutation over blocks of rows, then one over the rows of each window of 64 blocks. Without shuffling it
// is the identity.
#pragma once

#include <cstdint>

namespace bloomery::data {

class Order {
 public:
  Order(int64_t numRows, int64_t rowsPerBlock, uint64_t seed, int64_t epoch, bool shuffle);
  int64_t numRows() const { return numRows_; }
  int64_t at(int64_t position) const;  // 0 <= position < numRows

 private:
  int64_t numRows_;
  int64_t rowsPerBlock_;
  uint64_t key_;
  bool shuffle_;
};

}  // namespace bloomery::data
