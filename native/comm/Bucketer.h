// Reduces the gradients of a step in buckets while backward goes on: neighbouring slices of the gradient arena, from
// the last layer to the first, each started as soon as its last gradient is written. All ranks have the same buckets in
// the same order, whatever order their gradients come in. Tables of which a step touches few rows have buckets of their
// own. Lives on the compute thread; borrows the arena, the marks and the comm thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/CommThread.h"
#include "comm/GradientWire.h"
#include "tensor/Arena.h"
#include "tensor/GradientRows.h"
#include "tensor/GradientSink.h"

namespace bloomery::comm {

// Part of the gradient arena, whole slices with the padding behind them.
struct Bucket {
  size_t first = 0, size = 0;  // in floats
};

// A pure function of its arguments. The arena may be longer than the layout: what lies behind the last slice rides in
// the first bucket, which is small, so that it is on its way early. apart: slices that get buckets of their own, by
// index, ascending; never the first one.
std::vector<Bucket> planBuckets(const ArenaLayout& layout, size_t numFloats, const std::vector<size_t>& apart = {});

// A slice of which a step touches few rows.
struct SparseTable {
  size_t slice = 0;
  TouchedRows* rows = nullptr;
  int64_t mostRows = 0;  // that all ranks together touch in a step, each counted for itself
};

class Bucketer final : public GradientSink {
 public:
  // The last numCounts(tables, ranks) floats of the gradients are the bucketer's own, behind all that is the caller's.
  Bucketer(CommThread& comm, std::span<float> gradients, const ArenaLayout& layout,
           const std::vector<SparseTable>& tables = {}, const WireSpec& wire = {});
  static size_t numCounts(size_t tables, int ranks);

  const std::vector<Bucket>& buckets() const { return buckets_; }

  // Before a step's backward, with what rides behind the last slice already written, and all rows marked that the step
  // touches here.
  void begin();
  void ready(size_t sliceIndex) override;
  // Behind it: starts what nobody has announced, such as everything on a rank without rows.
  void finish();
  // Till a bucket that was started is reduced; rethrows a failure.
  void await(size_t bucket) { comm_.wait(tickets_[bucket]); }
  // Messages that 16 bits could not hold since the last call, equal on all ranks; while no reduction is under way.
  int64_t takeRepeats() { return wire_.takeRepeats(); }

 private:
  void start(size_t bucket);
  void planTail(const ArenaLayout& layout);
  void planHalves(const ArenaLayout& layout, const std::vector<size_t>& exactSlices);

  CommThread& comm_;
  std::span<float> gradients_;
  std::vector<Bucket> buckets_;
  std::vector<SparseTable> tables_;
  GradientWire wire_;
  std::span<float> counts_;                             // [tables, ranks]: touched rows
  std::vector<std::unique_ptr<Reduction>> reductions_;  // by bucket; null: a plain sum
  std::vector<size_t> bucketOf_;                        // by slice
  std::vector<size_t> numSlices_;                       // by bucket
  std::vector<size_t> numMissing_;
  std::vector<uint64_t> tickets_;
  size_t next_ = 0;  // the first bucket that is not started
};

}  // namespace bloomery::comm
