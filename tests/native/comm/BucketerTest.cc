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
