#include "data/StepRows.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Random.h"

namespace bloomery::data {

namespace {

// How long a step waits for rows before its owner is asked again whether it is still wanted.
constexpr auto kPatience = std::chrono::milliseconds(20);

}  // namespace

OrderedRows::OrderedRows(Order order, int64_t batchSize) : order_(order), batchSize_(batchSize) {
  check(batchSize > 0, "Batch size is not positive: ", batchSize);
}

size_t OrderedRows::next(std::span<int64_t> rows) {
  check(rows.size() >= static_cast<size_t>(batchSize_), "Step of ", batchSize_, " rows into room for ", rows.size());
  int64_t count = std::min(batchSize_, order_.numRows() - position_);
  for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = order_.at(position_ + i);
  position_ += count;
  return static_cast<size_t>(count);
}

StreamedRows::StreamedRows(const RowStore& rows, int64_t batchSize, int64_t shuffleBuffer, uint64_t seed)
    : rows_(rows), batchSize_(batchSize), shuffleBuffer_(shuffleBuffer), key_(mixKey(seed, "stream")) {
  check(batchSize > 0 && shuffleBuffer > 0, "Steps of ", batchSize, " rows through a buffer of ", shuffleBuffer);
}

bool StreamedRows::awaitNext() {
  int64_t wanted = numDrawn_ + batchSize_ + shuffleBuffer_ - 1;
  arrived_ = rows_.awaitRows(wanted, kPatience);
  return arrived_.all || arrived_.rows >= wanted;
}

size_t StreamedRows::next(std::span<int64_t> rows) {
  check(rows.size() >= static_cast<size_t>(batchSize_), "Step of ", batchSize_, " rows into room for ", rows.size());
  size_t count = static_cast<size_t>(std::min(batchSize_, arrived_.rows - numDrawn_));
  for (size_t i = 0; i < count; ++i) rows[i] = draw();
  return count;
}

int64_t StreamedRows::draw() {
  while (static_cast<int64_t>(buffer_.size()) < shuffleBuffer_ && numTaken_ < arrived_.rows) {
    buffer_.push_back(numTaken_++);
  }
  RandomBlock random = philox(key_, static_cast<uint64_t>(numDrawn_++), 0);
  uint64_t place = (uint64_t{random[0]} << 32 | random[1]) % buffer_.size();
  std::swap(buffer_[place], buffer_.back());
  int64_t row = buffer_.back();
  buffer_.pop_back();
  return row;
}

ExplicitRows::ExplicitRows(std::vector<std::vector<int64_t>> steps) : steps_(std::move(steps)) {
  for (const auto& step : steps_) check(!step.empty(), "A step without rows would end the epoch");
}

size_t ExplicitRows::next(std::span<int64_t> rows) {
  if (step_ == steps_.size()) return 0;
  const std::vector<int64_t>& step = steps_[step_++];
  check(rows.size() >= step.size(), "Step of ", step.size(), " rows into room for ", rows.size());
  std::copy(step.begin(), step.end(), rows.begin());
  return step.size();
}

}  // namespace bloomery::data
