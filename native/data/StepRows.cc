#include "data/StepRows.h"

#include <algorithm>

#include "base/Error.h"

namespace bloomery::data {

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
