// The order in which an epoch visits rows: a permutation computed from (seed, epoch) without a table, in two levels:
// one over blocks of rows, then one over the rows of each window of at most 64 permuted blocks, so that few blocks are
// needed at a time. Windows are as few as that allows and of equal size, give or take a block, so that no part of an
// epoch comes from a narrow slice of the rows. Without shuffling it is the identity.
#pragma once

#include <cstdint>

#include "data/Permutation.h"

namespace bloomery::data {

class Order {
 public:
  static constexpr int64_t kMaxBlocksPerWindow = 64;

  Order(int64_t numRows, int64_t rowsPerBlock, uint64_t seed, int64_t epoch, bool shuffle);
  int64_t numRows() const { return numRows_; }
  int64_t at(int64_t position) const;  // 0 <= position < numRows

  // For whoever reads blocks ahead: the window of a position, how many there are, and which blocks it takes its rows
  // from: those at places [firstPlace(window), firstPlace(window + 1)).
  int64_t windowOf(int64_t position) const;
  int64_t numWindows() const { return (numBlocks() + kMaxBlocksPerWindow - 1) / kMaxBlocksPerWindow; }
  int64_t firstPlace(int64_t window) const;  // 0 <= window <= numWindows
  int64_t numBlocks() const { return (numRows_ + rowsPerBlock_ - 1) / rowsPerBlock_; }
  int64_t blockAt(int64_t place) const;

 private:
  int64_t windowOfPlace(int64_t place) const;
  // As if every block were full.
  int64_t fullPosition(int64_t position) const;

  int64_t numRows_;
  int64_t rowsPerBlock_;
  bool shuffle_;
  uint64_t key_;
  Permutation blocks_;
  // Of each window; the first windows have one more.
  int64_t blocksPerWindow_ = 1;
  int64_t numLargerWindows_ = 0;
  // The last block may be short: which place it gets among the permuted blocks, in which window, and how many rows
  // it lacks.
  int64_t shortPlace_ = 0;
  int64_t shortWindow_ = 0;
  int64_t missingRows_ = 0;
};

}  // namespace bloomery::data
