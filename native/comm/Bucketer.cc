#include "comm/Bucketer.h"

#include <algorithm>

#include "base/Error.h"
#include "comm/RowReduction.h"

namespace bloomery::comm {

namespace {

constexpr size_t kFirstFloats = (size_t{256} << 10) / sizeof(float);
constexpr size_t kFloats = (size_t{4} << 20) / sizeof(float);

std::vector<size_t> slicesOf(const std::vector<SparseTable>& tables) {
  std::vector<size_t> slices;
  for (const SparseTable& table : tables) slices.push_back(table.slice);
  return slices;
}

// Of a bucket whose gradients stay where they are.
class TailReduction final : public Reduction {
 public:
  explicit TailReduction(std::span<float> tail = {}) : tail_(tail) {}
  void run(Communicator& communicator, Timeout timeout) override {
    if (!tail_.empty()) communicator.allreduce(tail_, timeout);
  }

 private:
  std::span<float> tail_;
};

}  // namespace

std::vector<Bucket> planBuckets(const ArenaLayout& layout, size_t numFloats, const std::vector<size_t>& apart) {
  check(numFloats >= layout.numFloats(), "Arena is shorter than its layout: ", numFloats);
  std::vector<Bucket> buckets;
  size_t end = numFloats, sliceEnd = layout.numFloats();
  auto closeAt = [&](size_t first) {
    if (first < end) buckets.push_back({first, end - first});
    end = first;
  };
  for (size_t i = layout.slices().size(); i > 0; --i) {
    size_t first = i == 1 ? 0 : layout.slices()[i - 1].offset;
    bool isApart = std::ranges::binary_search(apart, i - 1);
    if (isApart) closeAt(sliceEnd);
    check(!isApart || !buckets.empty(), "Nothing goes before a table: slice ", i - 1);
    bool full = end - first >= (buckets.empty() ? kFirstFloats : kFloats);
    if (isApart || full || i == 1) closeAt(first);
    sliceEnd = first;
  }
  if (buckets.empty()) buckets.push_back({0, numFloats});
  return buckets;
}

size_t Bucketer::numCounts(size_t tables, int ranks) { return (tables * static_cast<size_t>(ranks) + 15) / 16 * 16; }

Bucketer::Bucketer(CommThread& comm, std::span<float> gradients, const ArenaLayout& layout,
                   const std::vector<SparseTable>& tables, const WireSpec& wire)
    : comm_(comm),
      gradients_(gradients),
      buckets_(planBuckets(layout, gradients.size(), slicesOf(tables))),
      tables_(tables),
      wire_(wire),
      counts_(gradients.last(numCounts(tables.size(), comm.size()))),
      reductions_(buckets_.size()),
      numSlices_(buckets_.size()),
      numMissing_(buckets_.size()),
      tickets_(buckets_.size()) {
  for (const Slice& slice : layout.slices()) {
    size_t bucket = 0;
    while (slice.offset < buckets_[bucket].first) ++bucket;
    bucketOf_.push_back(bucket);
    ++numSlices_[bucket];
  }
  auto ranks = static_cast<size_t>(comm.size());
  for (size_t i = 0; i < tables_.size(); ++i) {
    reductions_[bucketOf_[tables_[i].slice]] =
        std::make_unique<RowReduction>(*tables_[i].rows, counts_.subspan(i * ranks, ranks), tables_[i].mostRows, wire_);
  }
  if (wire.onlyTail) {
    planTail(layout);
  } else if (wire_.halves()) {
    planHalves(layout, wire.exactSlices);
  }
}

void Bucketer::planTail(const ArenaLayout& layout) {
  for (std::unique_ptr<Reduction>& reduction : reductions_) reduction = std::make_unique<TailReduction>();
  reductions_[0] = std::make_unique<TailReduction>(gradients_.subspan(layout.numFloats()));
}

// What lies behind the last slice is exact, too. A bucket with little else travels whole, in one message.
void Bucketer::planHalves(const ArenaLayout& layout, const std::vector<size_t>& exactSlices) {
  std::vector<GradientWire::Parts> exact(buckets_.size());
  for (size_t slice : exactSlices) {
    exact[bucketOf_[slice]].push_back(gradients_.subspan(layout.slices()[slice].offset, layout.slices()[slice].size));
  }
  if (gradients_.size() > layout.numFloats()) exact[0].push_back(gradients_.subspan(layout.numFloats()));
  for (size_t i = 0; i < buckets_.size(); ++i) {
    size_t rest = buckets_[i].size;
    for (std::span<float> part : exact[i]) rest -= part.size();
    if (reductions_[i] != nullptr || rest < GradientWire::kFewestFloats) continue;
    reductions_[i] =
        std::make_unique<MixedReduction>(wire_, gradients_.subspan(buckets_[i].first, buckets_[i].size), exact[i]);
  }
}

void Bucketer::begin() {
  next_ = 0;
  numMissing_ = numSlices_;
  std::ranges::fill(counts_, 0.0f);
  for (size_t i = 0; i < tables_.size(); ++i) {
    counts_[i * static_cast<size_t>(comm_.size()) + static_cast<size_t>(comm_.rank())] =
        static_cast<float>(tables_[i].rows->count());
  }
}

void Bucketer::ready(size_t sliceIndex) {
  check(sliceIndex < bucketOf_.size(), "No such slice: ", sliceIndex);
  size_t& missing = numMissing_[bucketOf_[sliceIndex]];
  check(missing > 0, "Slice was announced twice: ", sliceIndex);
  --missing;
  while (next_ < buckets_.size() && numMissing_[next_] == 0) start(next_);
}

void Bucketer::finish() {
  while (next_ < buckets_.size()) start(next_);
}

void Bucketer::start(size_t bucket) {
  Reduction* reduction = reductions_[bucket].get();
  std::span<float> values = gradients_.subspan(buckets_[bucket].first, buckets_[bucket].size);
  auto number = static_cast<int64_t>(bucket);
  tickets_[bucket] = reduction == nullptr ? comm_.submit(values, number) : comm_.submit(*reduction, number);
  next_ = bucket + 1;
}

}  // namespace bloomery::comm
