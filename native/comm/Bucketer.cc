#include "comm/Bucketer.h"

#include "base/Error.h"

namespace bloomery::comm {

namespace {

constexpr size_t kFirstFloats = (size_t{256} << 10) / sizeof(float);
constexpr size_t kFloats = (size_t{4} << 20) / sizeof(float);

}  // namespace

std::vector<Bucket> planBuckets(const ArenaLayout& layout, size_t numFloats) {
  check(numFloats >= layout.numFloats(), "Arena is shorter than its layout: ", numFloats);
  std::vector<Bucket> buckets;
  size_t end = numFloats;
  for (size_t i = layout.slices().size(); i > 0; --i) {
    size_t first = i == 1 ? 0 : layout.slices()[i - 1].offset;
    bool full = end - first >= (buckets.empty() ? kFirstFloats : kFloats);
    if (!full && i > 1) continue;
    buckets.push_back({first, end - first});
    end = first;
  }
  if (buckets.empty()) buckets.push_back({0, numFloats});
  return buckets;
}

Bucketer::Bucketer(CommThread& comm, std::span<float> gradients, const ArenaLayout& layout)
    : comm_(comm),
      gradients_(gradients),
      buckets_(planBuckets(layout, gradients.size())),
      numSlices_(buckets_.size()),
      numMissing_(buckets_.size()),
      tickets_(buckets_.size()) {
  for (const Slice& slice : layout.slices()) {
    size_t bucket = 0;
    while (slice.offset < buckets_[bucket].first) ++bucket;
    bucketOf_.push_back(bucket);
    ++numSlices_[bucket];
  }
}

void Bucketer::begin() {
  next_ = 0;
  numMissing_ = numSlices_;
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
  tickets_[bucket] = comm_.submit(gradients_.subspan(buckets_[bucket].first, buckets_[bucket].size));
  next_ = bucket + 1;
}

}  // namespace bloomery::comm
