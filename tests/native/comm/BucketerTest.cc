#include "comm/Bucketer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/AllocationCounter.h"
#include "comm/FakeCommunicator.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);
constexpr size_t kTail = 16;

ArenaLayout layoutOf(const std::vector<int64_t>& sizes) {
  ArenaLayout layout;
  for (size_t i = 0; i < sizes.size(); ++i) layout.add("slice" + std::to_string(i), Shape({sizes[i]}));
  return layout;
}

// Small ones first and last, some larger than a bucket, some that share one.
const std::vector<int64_t> kSizes = {10, 3000000, 7, 400000, 400000, 400000, 20, 900000, 5, 60000, 30000, 10, 3};

class BucketPlan : public testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(BucketPlan, coversTheArenaOnceFromItsEndInWholeSlices) {
  ArenaLayout layout = layoutOf(GetParam());
  size_t end = layout.numFloats() + kTail;
  for (const Bucket& bucket : planBuckets(layout, layout.numFloats() + kTail)) {
    EXPECT_GT(bucket.size, 0u);
    EXPECT_EQ(bucket.first + bucket.size, end);
    bool startsASlice = std::ranges::any_of(layout.slices(), [&](const Slice& s) { return s.offset == bucket.first; });
    EXPECT_TRUE(startsASlice || bucket.first == 0) << bucket.first;
    end = bucket.first;
  }
  EXPECT_EQ(end, 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, BucketPlan,
                         testing::Values(std::vector<int64_t>{}, std::vector<int64_t>{1}, std::vector<int64_t>{9000000},
                                         std::vector<int64_t>(300, 50000), kSizes));

TEST(BucketPlan, firstIsSmallAndSmallOnesGoTogether) {
  ArenaLayout layout = layoutOf(kSizes);
  std::vector<Bucket> buckets = planBuckets(layout, layout.numFloats() + kTail);
  EXPECT_EQ(buckets.size(), 4u);
  EXPECT_LT(buckets[0].size, 100000u);
  EXPECT_EQ(planBuckets(layoutOf({1000, 1000, 10}), 4096).size(), 1u);
}

TEST(BucketPlan, slicesApartHaveBucketsOfTheirOwn) {
  ArenaLayout layout = layoutOf(kSizes);
  for (const std::vector<size_t>& apart :
       std::vector<std::vector<size_t>>{{0}, {1}, {4, 5}, {12}, {0, 1, 12}, {11, 12}}) {
    std::vector<Bucket> buckets = planBuckets(layout, layout.numFloats() + kTail, apart);
    size_t end = layout.numFloats() + kTail;
    for (const Bucket& bucket : buckets) {
      EXPECT_EQ(bucket.first + bucket.size, end);
      end = bucket.first;
    }
    EXPECT_EQ(end, 0u);
    EXPECT_EQ(buckets[0].first + buckets[0].size, layout.numFloats() + kTail);
    for (size_t slice : apart) {
      size_t first = layout.slices()[slice].offset;
      size_t behind = slice + 1 < kSizes.size() ? layout.slices()[slice + 1].offset : layout.numFloats();
      EXPECT_TRUE(std::ranges::any_of(buckets, [&](const Bucket& bucket) {
        return bucket.first == first && bucket.size == behind - first;
      })) << slice;
      EXPECT_NE(buckets[0].first, first);
    }
  }
  EXPECT_EQ(failureOf([&] { planBuckets(layout, layout.numFloats(), {12}); }).kind, "InternalError");
}

struct Rank {
  explicit Rank(Communicator& communicator)
      : layout(layoutOf(kSizes)),
        gradients(layout.numFloats() + kTail),
        thread(communicator, kPlenty, trace),
        bucketer(thread, gradients.all(), layout) {}

  ArenaLayout layout;
  Arena gradients;
  Trace trace;
  CommThread thread;
  Bucketer bucketer;
};

TEST(Bucketer, startsABucketWithItsLastSliceAndNeverBeforeTheOnesBefore) {
  FakeCommunicator communicator;
  Rank rank(communicator);
  const std::vector<Bucket>& buckets = rank.bucketer.buckets();
  auto startedAfter = [&](size_t slice) {
    rank.bucketer.ready(slice);
    rank.thread.wait();
    return communicator.sizes().size();
  };
  rank.bucketer.begin();
  for (size_t slice : {11u, 10u, 9u, 8u, 7u, 6u, 5u, 4u, 3u}) EXPECT_EQ(startedAfter(slice), 0u) << slice;
  EXPECT_EQ(startedAfter(12), 2u);
  EXPECT_EQ(startedAfter(0), 2u);
  rank.bucketer.finish();
  rank.bucketer.await(buckets.size() - 1);
  std::vector<size_t> expected;
  for (const Bucket& bucket : buckets) expected.push_back(bucket.size);
  EXPECT_EQ(communicator.sizes(), expected);
}

TEST(Bucketer, gradientsThatComeInAnyOrderAddUp) {
  auto ranks = makeLocalGroup(3);
  onAllRanks(ranks, [](Communicator& communicator) {
    Rank rank(communicator);
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    std::vector<size_t> order(kSizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int step = 0; step < 5; ++step) {
      std::span<float> values = rank.gradients.all();
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>((i % 1000) * static_cast<size_t>(communicator.rank() + 1 + step));
      }
      std::shuffle(order.begin(), order.end(), random);
      rank.bucketer.begin();
      // The last rank has no rows in every other step, and so nothing to announce.
      bool announces = communicator.rank() < 2 || step % 2 == 0;
      for (size_t slice : order) {
        if (announces) rank.bucketer.ready(slice);
      }
      rank.bucketer.finish();
      for (size_t i = 0; i < rank.bucketer.buckets().size(); ++i) {
        rank.bucketer.await(i);
        const Bucket& bucket = rank.bucketer.buckets()[i];
        for (size_t k = bucket.first; k < bucket.first + bucket.size; ++k) {
          ASSERT_EQ(values[k], static_cast<float>((k % 1000) * static_cast<size_t>(6 + 3 * step))) << k;
        }
      }
    }
  });
}

// Two tables, of which one is the last slice, so that the tail travels first and alone.
TEST(Bucketer, movesTouchedRowsOnlyAndMarksThoseOfAll) {
  auto ranks = makeLocalGroup(3);
  onAllRanks(ranks, [](Communicator& communicator) {
    ArenaLayout layout;
    layout.add("table", {1000, 20});
    layout.add("dense", {50});
    layout.add("lastTable", {2000, 20});
    Arena gradients(layout.numFloats() + kTail + Bucketer::numCounts(2, 3));
    GradientRows rows(gradients, layout, {0, 2});
    Trace trace;
    CommThread thread(communicator, kPlenty, trace);
    Bucketer bucketer(thread, gradients.all(), layout, {{0, rows.find(0), 3000}, {2, rows.find(2), 6000}});
    EXPECT_EQ(bucketer.buckets().size(), 4u);
    for (int64_t step = 0; step < 4; ++step) {
      rows.clearArena();
      gradients.all()[layout.numFloats()] = 1;  // the tail
      // In the third step one rank goes over all of the first table.
      if (step == 2 && communicator.rank() == 1) rows.find(0)->markAll();
      for (size_t slice : {0u, 2u}) {
        int64_t row = 10 * step + communicator.rank();
        rows.find(slice)->mark(row);
        std::ranges::fill(rows.find(slice)->row(row), 1.0f);
        rows.find(slice)->mark(500);
        std::ranges::fill(rows.find(slice)->row(500), 1.0f);
      }
      bucketer.begin();
      if (communicator.rank() != 2) {  // who has no rows announces nothing
        for (size_t slice : {2u, 1u, 0u}) bucketer.ready(slice);
      }
      bucketer.finish();
      for (size_t i = 0; i < bucketer.buckets().size(); ++i) bucketer.await(i);
      EXPECT_EQ(gradients.all()[layout.numFloats()], 3.0f);
      for (size_t slice : {0u, 2u}) {
        EXPECT_EQ(rows.find(slice)->all(), slice == 0 && step == 2);
        for (int64_t row = 0; row < rows.find(slice)->numRows(); ++row) {
          float expected = row == 500 ? 3.0f : row >= 10 * step && row < 10 * step + 3 ? 1.0f : 0.0f;
          for (float value : rows.find(slice)->row(row)) ASSERT_EQ(value, expected) << row;
        }
      }
    }
  });
}

TEST(Bucketer, refusesASliceThatComesTwice) {
  FakeCommunicator communicator;
  Rank rank(communicator);
  rank.bucketer.begin();
  rank.bucketer.ready(12);
  rank.bucketer.ready(11);
  rank.bucketer.ready(10);
  rank.bucketer.ready(9);
  EXPECT_EQ(failureOf([&] { rank.bucketer.ready(9); }).kind, "InternalError");
}

TEST(Bucketer, allocatesNothing) {
  FakeCommunicator communicator;
  Rank rank(communicator);
  auto step = [&] {
    rank.bucketer.begin();
    for (size_t slice = kSizes.size(); slice > 0; --slice) rank.bucketer.ready(slice - 1);
    rank.bucketer.finish();
    rank.bucketer.await(rank.bucketer.buckets().size() - 1);
  };
  step();
  uint64_t before = numAllocations();
  step();
  EXPECT_EQ(numAllocations(), before);
}

}  // namespace
}  // namespace bloomery::comm
