#include "comm/RowReduction.h"

#include <algorithm>
#include <numeric>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

// Row numbers cost a float each: told only when they are a small part of the table.
constexpr size_t kShareOfNumbers = 16;

}  // namespace

RowReduction::RowReduction(TouchedRows& rows, std::span<const float> counts, int64_t mostRows, GradientWire& wire)
    : rows_(rows), counts_(counts), wire_(wire) {
  size_t most = static_cast<size_t>(mostRows);
  size_t numbers = std::min(most, rows.table().size() / kShareOfNumbers);
  size_t values = std::min(most, rows.limit()) * rows.width();
  packed_.resize(std::max(numbers, values));
}

// A rank that does not tell its rows apart counts all of them, more than the limit.
bool RowReduction::isWorthTelling() const {
  double total = std::accumulate(counts_.begin(), counts_.end(), 0.0);
  return *std::ranges::max_element(counts_) <= static_cast<float>(rows_.limit()) &&
         total * kShareOfNumbers <= static_cast<double>(rows_.table().size());
}

void RowReduction::run(Communicator& communicator, Timeout timeout) {
  if (isWorthTelling()) {
    tellRows(communicator, timeout);
  } else {
    rows_.markAll();
  }
  if (rows_.all()) return wire_.reduce(communicator, rows_.table(), timeout);
  std::span<const int32_t> rows = rows_.rows();
  std::span<float> packed = std::span(packed_).first(rows.size() * rows_.width());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows_.row(rows[i]), packed.begin() + static_cast<ptrdiff_t>(i * rows_.width()));
  }
  if (!packed.empty()) wire_.reduce(communicator, packed, timeout);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(packed.subspan(i * rows_.width(), rows_.width()), rows_.row(rows[i]).begin());
  }
}

// Each rank writes into a part of its own, the others bring zeros to it: the sum is one list behind the other. A float
// holds every row number exactly (a table has at most 2^24 rows).
void RowReduction::tellRows(Communicator& communicator, Timeout timeout) {
  auto own = counts_.begin() + communicator.rank();
  auto first = static_cast<size_t>(std::accumulate(counts_.begin(), own, 0.0));
  auto total = static_cast<size_t>(std::accumulate(counts_.begin(), counts_.end(), 0.0));
  check(total <= packed_.size() && static_cast<int64_t>(*own) == rows_.count(),
        "Touched rows are not those that were announced: ", rows_.count(), ", announced: ", *own, ", of all: ", total);
  std::span<float> numbers = std::span(packed_).first(total);
  std::ranges::fill(numbers, 0.0f);
  std::ranges::copy(rows_.rows(), numbers.begin() + static_cast<ptrdiff_t>(first));
  if (!numbers.empty()) communicator.allreduce(numbers, timeout);
  for (float number : numbers) {
    check(number >= 0 && number < static_cast<float>(rows_.numRows()), "No such row: ", number);
    rows_.mark(static_cast<int64_t>(number));
  }
}

}  // namespace bloomery::comm
