// The order in which an epoch visits rows: a permutation computed from (seed, epoch) without a table, in two levels:
// one over blocks of rows, then one over the rows of each window of 64 permuted blocks, so that few blocks are needed
// at a time. Without shuffling it is the identity.
#pragma once

#include <cstdint>

#include "data/Permutation.h"

namespace bloomery::data {

class Order {
 public:
  static constexpr int64_t kBlocksPerWindow = 64;

  Order(int64_t numRows, int64_t rowsPerBlock, uint64_t seed, int64_t epoch, bool shuffle);
  int64_t numRows() const { return numRows_; }
  int64_t at(int64_t position) const;  // 0 <= position < numRows

  // For whoever reads blocks ahead: the window of a position, how many there are, and which blocks it takes its rows
  // from: those at places [window * kBlocksPerWindow, ...) below numBlocks.
  int64_t windowOf(int64_t position) const;
  int64_t numWindows() const { return (numBlocks() + kBlocksPerWindow - 1) / kBlocksPerWindow; }
  int64_t numBlocks() const { return (numRows_ + rowsPerBlock_ - 1) / rowsPerBlock_; }
  int64_t blockAt(int64_t place) const;

 private:
  // As if every block were full.
  int64_t fullPosition(int64_t position) const;

  int64_t numRows_;
  int64_t rowsPerBlock_;
  bool shuffle_;
  uint64_t key_;
  Permutation blocks_;
  // The last block may be short: which place it gets among the permuted blocks, and how many rows it lacks.
  int64_t shortPlace_ = 0;
  int64_t missingRows_ = 0;
};

}  // namespace bloomery::data
