#include "data/Prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "base/AllocationCounter.h"
#include "base/Error.h"
#include "base/NamedThread.h"
#include "data/Formats.h"

namespace bloomery::data {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class PrefetcherTest : public testing::Test {
 protected:
  PrefetcherTest() : rows_(oneClass(DType::kUint8, 4)) {
    for (uint64_t id = 0; id < 1000; ++id) std::memset(rows_.append(id, 0, 1), static_cast<int>(id % 256), 4);
  }
  Prefetcher prefetcher(int64_t batchSize, int depth) {
    return Prefetcher(rows_, batchSize, depth, cancellation_, trace_);
  }
  std::unique_ptr<StepRows> epoch(int64_t number, int64_t batchSize) const {
    return std::make_unique<OrderedRows>(Order(rows_.numRows(), 100, 5, number, true), batchSize);
  }
  static double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  RowStore rows_;
  Cancellation cancellation_;
  Trace trace_;
};

// Steps that somebody else lets through one by one, or that fail.
class GatedRows : public StepRows {
 public:
  explicit GatedRows(std::atomic<int>& allowed, int failAt = -1) : allowed_(allowed), failAt_(failAt) {}
  size_t next(std::span<int64_t> rows) override {
    if (step_ == failAt_) throw UserError("no more rows for you");
    while (allowed_ <= step_) std::this_thread::sleep_for(milliseconds(1));
    rows[0] = step_++;
    return 1;
  }

 private:
  std::atomic<int>& allowed_;
  int failAt_;
  int step_ = 0;
};

TEST_F(PrefetcherTest, bringsEveryRowOncePerEpochInOrder) {
  for (int depth : {1, 2, 7}) {
    Prefetcher batches = prefetcher(96, depth);
    for (int64_t number = 1; number <= 3; ++number) {
      batches.startEpoch(epoch(number, 96));
      Order order(rows_.numRows(), 100, 5, number, true);
      int64_t position = 0;
      while (Batch* batch = batches.peek()) {
        ASSERT_EQ(batches.peek(), batch);
        for (int64_t i = 0; i < batch->numRows; ++i, ++position) {
          ASSERT_EQ(batch->rowIds[static_cast<size_t>(i)], static_cast<uint64_t>(order.at(position)));
          ASSERT_EQ(batch->features[0].all()[static_cast<size_t>(i) * 4], static_cast<float>(order.at(position) % 256));
        }
        batches.pop();
      }
      EXPECT_EQ(position, rows_.numRows());
      EXPECT_EQ(batches.peek(), nullptr);
      EXPECT_EQ(batches.peekSecond(), nullptr);
    }
  }
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST_F(PrefetcherTest, showsTheSecondBatchBeforeTheFirstIsTaken) {
  Prefetcher batches = prefetcher(300, 1);
  batches.startEpoch(epoch(1, 300));
  for (int64_t wanted : {300, 300, 300, 100}) {
    Batch* first = batches.peek();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->numRows, wanted);
    uint64_t firstId = first->rowIds[0];
    Batch* second = batches.peekSecond();
    ASSERT_EQ(second == nullptr, wanted == 100);
    EXPECT_EQ(batches.peek(), first);
    EXPECT_EQ(first->rowIds[0], firstId);  // the first stays untouched while the others are assembled
    batches.pop();
    EXPECT_EQ(batches.peek(), second);
    batches.takeTimes();
  }
}

TEST_F(PrefetcherTest, worksAheadAsFarAsItHasRoom) {
  std::atomic<int> allowed = 1000;
  Prefetcher batches = prefetcher(1, 3);
  batches.startEpoch(std::make_unique<GatedRows>(allowed));
  std::this_thread::sleep_for(milliseconds(100));
  size_t assembled = trace_.drain().size();
  EXPECT_EQ(assembled, 5u);  // three ahead, and two for the compute thread
}

// Steps of a known order, the fourth of which takes a while.
class UnevenSteps : public GatedRows {
 public:
  explicit UnevenSteps(std::atomic<int>& allowed) : GatedRows(allowed), order_(1000, 100, 5, 1, false) {}
  const Order* order() const override { return &order_; }
  size_t next(std::span<int64_t> rows) override {
    if (++step_ > 8) return 0;
    if (step_ == 4) std::this_thread::sleep_for(milliseconds(40));
    return GatedRows::next(rows);
  }

 private:
  Order order_;
  int step_ = 0;
};

TEST_F(PrefetcherTest, worksFurtherAheadAfterAnEpochThatMadeTheComputeThreadWait) {
  std::atomic<int> allowed = 1000;
  Prefetcher batches = prefetcher(1, 1);
  auto assembledAhead = [&] {
    trace_.drain();
    batches.startEpoch(std::make_unique<UnevenSteps>(allowed));
    std::this_thread::sleep_for(milliseconds(120));
    return trace_.drain().size();
  };
  auto take = [&] {
    while (batches.peek() != nullptr) batches.pop();
  };
  EXPECT_EQ(assembledAhead(), 3u);  // one ahead, and two for the compute thread
  take();
  EXPECT_EQ(assembledAhead(), 6u);
}

TEST_F(PrefetcherTest, anEpochOfAnEmptyStoreEndsAtOnce) {
  RowStore none(oneClass(DType::kUint8, 4));
  Prefetcher batches(none, 8, 2, cancellation_, trace_);
  EXPECT_EQ(batches.peek(), nullptr);
  for (int64_t number = 1; number <= 3; ++number) {
    batches.startEpoch(std::make_unique<OrderedRows>(Order(0, 100, 5, number, true), 8));
    EXPECT_EQ(batches.peek(), nullptr);
  }
}

TEST_F(PrefetcherTest, carriesAFailureOverBehindTheBatchesBeforeIt) {
  std::atomic<int> allowed = 1000;
  Prefetcher batches = prefetcher(1, 4);
  batches.startEpoch(std::make_unique<GatedRows>(allowed, 3));
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(batches.peek(), nullptr);
    batches.pop();
  }
  for (int i = 0; i < 2; ++i) {
    try {
      batches.peek();
      FAIL() << "nothing thrown";
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "no more rows for you");
    }
  }
  EXPECT_THROW(batches.peekSecond(), UserError);
  EXPECT_THROW(batches.startEpoch(epoch(2, 1)), UserError);
}

TEST_F(PrefetcherTest, cancellationEndsAWait) {
  std::atomic<int> allowed = 0;
  Prefetcher batches = prefetcher(1, 2);
  batches.startEpoch(std::make_unique<GatedRows>(allowed));
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cancellation_.cancel();
  });
  auto start = Clock::now();
  EXPECT_THROW(batches.peek(), Cancelled);
  EXPECT_LT(secondsSince(start), 0.5);
  allowed = 1000;
  EXPECT_THROW(batches.peek(), Cancelled);
  canceller.join();
}

TEST_F(PrefetcherTest, tellsWithinItsPatienceThatABatchIsNotThereYet) {
  RowStore rows(oneClass(DType::kUint8, 4));
  auto append = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) std::memset(rows.append(static_cast<uint64_t>(rows.numRows()), 0, 1), 1, 4);
    rows.publish();
  };
  Prefetcher batches(rows, 10, 2, cancellation_, trace_);
  batches.startEpoch(std::make_unique<StreamedRows>(rows, 10, 1, 5));
  auto start = Clock::now();
  EXPECT_FALSE(batches.peekWithin(milliseconds(30)).has_value());
  EXPECT_GE(secondsSince(start), 0.03);
  EXPECT_GT(batches.takeTimes().waitSeconds, 0.02);
  append(15);
  auto batch = batches.peekWithin(std::chrono::seconds(10));
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ((*batch)->numRows, 10);
  EXPECT_FALSE(batches.peekSecondWithin(milliseconds(1)).has_value());
  rows.finish();
  auto second = batches.peekSecondWithin(std::chrono::seconds(10));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ((*second)->numRows, 5);
  batches.pop();
  batches.pop();
  EXPECT_EQ(batches.peekWithin(std::chrono::seconds(10)), nullptr);
  EXPECT_LT(batches.takeTimes().assembleSeconds, 0.02) << "waiting for rows is no work";
}

TEST_F(PrefetcherTest, endsWhileRowsAreStillToCome) {
  RowStore rows(oneClass(DType::kUint8, 4));
  {
    Prefetcher batches(rows, 10, 2, cancellation_, trace_);
    batches.startEpoch(std::make_unique<StreamedRows>(rows, 10, 1, 5));
  }
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST_F(PrefetcherTest, measuresWaitsAndWork) {
  std::atomic<int> allowed = 0;
  Prefetcher batches = prefetcher(1, 2);
  batches.startEpoch(std::make_unique<GatedRows>(allowed));
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(60));
    allowed = 1000;
  });
  batches.peek();
  opener.join();
  std::this_thread::sleep_for(milliseconds(20));
  PrefetchTimes times = batches.takeTimes();
  EXPECT_GT(times.waitSeconds, 0.03);
  EXPECT_GT(times.assembleSeconds, 0.03);
  batches.peek();
  EXPECT_EQ(batches.takeTimes().waitSeconds, 0.0);
  std::set<std::string> names;
  for (const TraceSpan& span : trace_.drain()) names.insert(span.name);
  EXPECT_EQ(names, (std::set<std::string>{"assemble", "wait for data"}));
}

TEST_F(PrefetcherTest, allocatesNothingWithinAnEpoch) {
  Prefetcher batches = prefetcher(32, 4);
  auto walk = [&] {
    while (batches.peek() != nullptr) {
      batches.peekSecond();
      batches.pop();
    }
  };
  batches.startEpoch(epoch(1, 32));
  walk();
  batches.startEpoch(epoch(2, 32));  // may add buffers
  uint64_t before = numAllocations();
  walk();
  EXPECT_EQ(numAllocations(), before);
}

TEST_F(PrefetcherTest, refusesAnEpochBeforeTheLastIsOver) {
  Prefetcher batches = prefetcher(300, 1);
  batches.startEpoch(epoch(1, 300));
  batches.peek();
  EXPECT_THROW(batches.startEpoch(epoch(2, 300)), InternalError);
}

TEST_F(PrefetcherTest, canBeDestroyedInTheMiddleOfAnEpoch) {
  for (int i = 0; i < 20; ++i) {
    Prefetcher batches = prefetcher(7, 2);
    batches.startEpoch(epoch(1, 7));
    if (i % 2 == 0) batches.peek();
  }
  EXPECT_EQ(countNamedThreads(), 0);
}

}  // namespace
}  // namespace bloomery::data
