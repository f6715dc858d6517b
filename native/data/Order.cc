#include "data/Order.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Random.h"

namespace bloomery::data {

namespace {

uint64_t blocksOf(int64_t numRows, int64_t rowsPerBlock) {
  check(numRows >= 0 && rowsPerBlock > 0, "Order of ", numRows, " rows in blocks of ", rowsPerBlock);
  return static_cast<uint64_t>((numRows + rowsPerBlock - 1) / rowsPerBlock);
}

}  // namespace

Order::Order(int64_t numRows, int64_t rowsPerBlock, uint64_t seed, int64_t epoch, bool shuffle)
    : numRows_(numRows),
      rowsPerBlock_(rowsPerBlock),
      shuffle_(shuffle),
      key_(mixKey(mixKey(seed, "order"), static_cast<uint64_t>(epoch))),
      blocks_(blocksOf(numRows, rowsPerBlock), mixKey(key_, "blocks")) {
  if (numRows == 0) return;
  uint64_t lastBlock = blocksOf(numRows, rowsPerBlock) - 1;
  shortPlace_ = static_cast<int64_t>(blocks_.inverse(lastBlock));
  missingRows_ = static_cast<int64_t>(lastBlock + 1) * rowsPerBlock - numRows;
}

// Behind the short block's window all positions are `missingRows_` further on.
int64_t Order::fullPosition(int64_t position) const {
  int64_t endOfShortWindow = (shortPlace_ / kBlocksPerWindow + 1) * kBlocksPerWindow * rowsPerBlock_;
  return shuffle_ && position >= endOfShortWindow - missingRows_ ? position + missingRows_ : position;
}

int64_t Order::windowOf(int64_t position) const { return fullPosition(position) / (kBlocksPerWindow * rowsPerBlock_); }

int64_t Order::blockAt(int64_t place) const {
  return shuffle_ ? static_cast<int64_t>(blocks_.at(static_cast<uint64_t>(place))) : place;
}

int64_t Order::at(int64_t position) const {
  if (!shuffle_) return position;
  const int64_t rowsPerWindow = kBlocksPerWindow * rowsPerBlock_;
  const int64_t shortWindow = shortPlace_ / kBlocksPerWindow;
  position = fullPosition(position);
  const int64_t window = position / rowsPerWindow;
  const int64_t firstPlace = window * kBlocksPerWindow;
  const int64_t firstRow = window * rowsPerWindow;
  const int64_t rowsTillEnd = numRows_ + missingRows_ - firstRow;  // of full blocks
  const int64_t rowsInWindow = std::min(rowsPerWindow, rowsTillEnd) - (window == shortWindow ? missingRows_ : 0);

  Permutation rows(static_cast<uint64_t>(rowsInWindow), mixKey(key_, static_cast<uint64_t>(window)));
  int64_t row = static_cast<int64_t>(rows.at(static_cast<uint64_t>(position - firstRow)));
  if (window == shortWindow && row >= (shortPlace_ - firstPlace + 1) * rowsPerBlock_ - missingRows_)
    row += missingRows_;

  return blockAt(firstPlace + row / rowsPerBlock_) * rowsPerBlock_ + row % rowsPerBlock_;
}

}  // namespace bloomery::data
