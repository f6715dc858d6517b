#include "comm/CommThread.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "base/AllocationCounter.h"
#include "base/NamedThread.h"
#include "comm/FakeCommunicator.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);

TEST(CommThread, reducesInTheOrderOfSubmission) {
  auto ranks = makeLocalGroup(3);
  onAllRanks(ranks, [](Communicator& communicator) {
    Trace trace;
    CommThread thread(communicator, kPlenty, trace);
    std::vector<std::vector<float>> buckets(50);
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].assign(i + 1, static_cast<float>(communicator.rank() + 1));
      thread.submit(buckets[i]);
    }
    thread.wait();
    for (const auto& bucket : buckets) {
      for (float value : bucket) ASSERT_EQ(value, 6.0f);
    }
    auto spans = trace.drain();
    ASSERT_EQ(spans.size(), buckets.size());
    EXPECT_STREQ(spans[0].name, "bucket");
    EXPECT_STREQ(spans[0].thread, "comm");
    EXPECT_GT(thread.takeSeconds(), 0.0);
    EXPECT_EQ(thread.takeSeconds(), 0.0);
  });
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST(CommThread, takesMoreThanItHasRoomFor) {
  auto ranks = makeLocalGroup(2);
  onAllRanks(ranks, [](Communicator& communicator) {
    Trace trace;
    CommThread thread(communicator, kPlenty, trace);
    std::vector<float> values(5000, 1.0f);
    for (float& value : values) thread.submit(std::span(&value, 1));
    thread.wait();
    for (float value : values) ASSERT_EQ(value, 2.0f);
  });
}

TEST(CommThread, allocatesNothing) {
  FakeCommunicator communicator;
  Trace trace;
  CommThread thread(communicator, kPlenty, trace);
  std::vector<float> values(100);
  auto step = [&] {
    for (int i = 0; i < 100; ++i) thread.submit(values);
    thread.wait();
  };
  step();
  uint64_t before = numAllocations();
  step();
  EXPECT_EQ(numAllocations(), before);
}

TEST(CommThread, waitsForOneReductionAndThoseBeforeIt) {
  std::mutex gate;
  FakeCommunicator communicator([&](size_t number) {
    if (number == 3) std::lock_guard wait(gate);
  });
  Trace trace;
  CommThread thread(communicator, kPlenty, trace);
  std::vector<float> values(4);
  {
    std::lock_guard closed(gate);
    thread.submit(values);
    uint64_t second = thread.submit(values);
    thread.submit(values);
    thread.wait(second);
  }
  thread.wait();
  EXPECT_EQ(communicator.sizes().size(), 3u);
}

TEST(CommThread, hasNothingToDoForOneRank) {
  auto ranks = makeLocalGroup(1);
  Trace trace;
  CommThread thread(*ranks[0], kPlenty, trace);
  std::vector<float> values(4, 7.0f);
  thread.wait(thread.submit(values));
  EXPECT_EQ(values[0], 7.0f);
  EXPECT_TRUE(trace.drain().empty());
}

TEST(CommThread, keepsTheFirstFailure) {
  auto ranks = makeLocalGroup(2);
  Trace trace;
  CommThread thread(*ranks[0], Timeout(100), trace);
  std::vector<float> values(4, 7.0f);
  auto start = Clock::now();
  for (int i = 0; i < 20; ++i) thread.submit(values);
  Failure first = failureOf([&] { thread.wait(); });
  EXPECT_EQ(first.kind, "PeerLost");
  EXPECT_EQ(first.text,
            "Lost contact with rank 1 during allreduce of 16 bytes on rank 0 of 2: it did not come within 100 ms");
  EXPECT_LT(secondsSince(start), 1.0);
  EXPECT_EQ(failureOf([&] { thread.wait(); }).text, first.text);
  EXPECT_EQ(values[0], 7.0f);
}

TEST(CommThread, failuresTellWhatTheReductionWasFor) {
  auto ranks = makeLocalGroup(2);
  Trace trace;
  CommThread thread(*ranks[0], kPlenty, trace);
  thread.setTimeout(Timeout(100));
  std::vector<float> values(4, 7.0f);
  auto start = Clock::now();
  thread.submit(values, {"bucket", 2, 5});
  while (ranks[0]->activity().now().operation == nullptr) std::this_thread::yield();
  EXPECT_EQ(ranks[0]->activity().now().text(), "allreduce of bucket 2 of 5 (16 bytes)");
  EXPECT_EQ(failureOf([&] { thread.wait(); }).text,
            "Lost contact with rank 1 during allreduce of bucket 2 of 5 (16 bytes) on rank 0 of 2: it did not come "
            "within 100 ms");
  EXPECT_LT(secondsSince(start), 1.0);
  EXPECT_EQ(ranks[0]->activity().now().text(), "") << "nothing is under way";
  EXPECT_EQ(ranks[0]->activity().now().purpose.what, nullptr);
}

TEST(CommThread, reducesNothingAfterAFailure) {
  // Would go on as if nothing had happened, as no communicator may.
  FakeCommunicator communicator([](size_t number) {
    if (number == 1) throw PeerLost("gone");
  });
  Trace trace;
  CommThread thread(communicator, kPlenty, trace);
  std::vector<float> values(4);
  thread.submit(values);
  EXPECT_EQ(failureOf([&] { thread.wait(); }).text, "gone");
  thread.submit(values);
  EXPECT_EQ(failureOf([&] { thread.wait(); }).text, "gone");
  EXPECT_EQ(communicator.sizes().size(), 1u);
}

TEST(CommThread, endsWhileAReductionIsStuckOnceAborted) {
  auto ranks = makeLocalGroup(2);
  Trace trace;
  std::vector<float> values(4);
  auto start = Clock::now();
  {
    CommThread thread(*ranks[0], kPlenty, trace);
    thread.submit(values);
    thread.submit(values);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ranks[0]->abort();
  }
  EXPECT_LT(secondsSince(start), 1.0);
}

}  // namespace
}  // namespace bloomery::comm
