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
  blocksPerWindow_ = numBlocks() / numWindows();
  numLargerWindows_ = numBlocks() % numWindows();
  shortPlace_ = static_cast<int64_t>(blocks_.inverse(static_cast<uint64_t>(numBlocks() - 1)));
  shortWindow_ = windowOfPlace(shortPlace_);
  missingRows_ = numBlocks() * rowsPerBlock - numRows;
}

int64_t Order::firstPlace(int64_t window) const {
  return window * blocksPerWindow_ + std::min(window, numLargerWindows_);
}

int64_t Order::windowOfPlace(int64_t place) const {
  int64_t placesOfLarger = numLargerWindows_ * (blocksPerWindow_ + 1);
  return place < placesOfLarger ? place / (blocksPerWindow_ + 1)
                                : numLargerWindows_ + (place - placesOfLarger) / blocksPerWindow_;
}

// Behind the short block's window all positions are `missingRows_` further on.
int64_t Order::fullPosition(int64_t position) const {
  int64_t endOfShortWindow = firstPlace(shortWindow_ + 1) * rowsPerBlock_;
  return shuffle_ && position >= endOfShortWindow - missingRows_ ? position + missingRows_ : position;
}

int64_t Order::windowOf(int64_t position) const { return windowOfPlace(fullPosition(position) / rowsPerBlock_); }

int64_t Order::blockAt(int64_t place) const {
  return shuffle_ ? static_cast<int64_t>(blocks_.at(static_cast<uint64_t>(place))) : place;
}

int64_t Order::at(int64_t position) const {
  if (!shuffle_) return position;
  position = fullPosition(position);
  const int64_t window = windowOfPlace(position / rowsPerBlock_);
  const int64_t first = firstPlace(window);
  const int64_t firstRow = first * rowsPerBlock_;
  const bool isShort = window == shortWindow_;
  const int64_t rowsInWindow = firstPlace(window + 1) * rowsPerBlock_ - firstRow - (isShort ? missingRows_ : 0);

  Permutation rows(static_cast<uint64_t>(rowsInWindow), mixKey(key_, static_cast<uint64_t>(window)));
  int64_t row = static_cast<int64_t>(rows.at(static_cast<uint64_t>(position - firstRow)));
  if (isShort && row >= (shortPlace_ - first + 1) * rowsPerBlock_ - missingRows_) row += missingRows_;

  return blockAt(first + row / rowsPerBlock_) * rowsPerBlock_ + row % rowsPerBlock_;
}

}  // namespace bloomery::data
