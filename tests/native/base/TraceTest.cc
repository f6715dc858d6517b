#include "base/Trace.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

#include "base/AllocationCounter.h"

namespace bloomery {
namespace {

using std::chrono::microseconds;

TEST(Trace, givesSpansOnceAndInOrder) {
  Trace trace;
  auto start = Trace::Clock::now();
  trace.record("read", "batch", start, start + microseconds(5));
  trace.record("compute", "train", start + microseconds(10), start + microseconds(30));
  auto spans = trace.drain();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_STREQ(spans[0].name, "read");
  EXPECT_STREQ(spans[0].thread, "batch");
  EXPECT_EQ(spans[0].durationMicros, 5);
  EXPECT_STREQ(spans[1].name, "compute");
  EXPECT_EQ(spans[1].durationMicros, 20);
  EXPECT_NEAR(static_cast<double>(spans[1].startMicros - spans[0].startMicros), 10, 1);
  EXPECT_TRUE(trace.drain().empty());
}

TEST(Trace, overwritesTheOldestAndNeverAllocates) {
  Trace trace(4);
  auto now = Trace::Clock::now();
  uint64_t before = numAllocations();
  for (int i = 0; i < 10; ++i) trace.record("x", "y", now, now + microseconds(i));
  EXPECT_EQ(numAllocations(), before);
  auto spans = trace.drain();
  ASSERT_EQ(spans.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(spans[static_cast<size_t>(i)].durationMicros, 6 + i);
  trace.record("x", "y", now, now + microseconds(77));
  EXPECT_EQ(trace.drain().at(0).durationMicros, 77);
}

TEST(Trace, numbersTellSpansOfOneNameApart) {
  Trace trace;
  auto now = Trace::Clock::now();
  trace.record("bucket", "comm", now, now, 0);
  trace.record("backward", "compute", now, now);
  {
    TraceScope scope(trace, "bucket", "comm", nullptr, 12);
  }
  auto spans = trace.drain();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].title(), "bucket 0");
  EXPECT_EQ(spans[1].title(), "backward");
  EXPECT_EQ(spans[2].title(), "bucket 12");
}

TEST(Trace, knowsItsBeginningByTheMachinesClock) {
  Trace trace;
  auto now = Trace::Clock::now();
  trace.record("x", "y", now, now);
  timespec monotonic;
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  int64_t micros = monotonic.tv_sec * 1'000'000 + monotonic.tv_nsec / 1000;
  int64_t recorded = trace.originMicros() + trace.drain().at(0).startMicros;
  EXPECT_LE(recorded, micros);
  EXPECT_GT(recorded, micros - 1'000'000);
}

TEST(TraceScope, recordsItsLifeAndAddsTheSeconds) {
  Trace trace;
  double seconds = 1;
  {
    TraceScope scope(trace, "sleep", "test", &seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  {
    TraceScope scope(trace, "nothing", "test");
  }
  auto spans = trace.drain();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_GE(spans[0].durationMicros, 5000);
  EXPECT_NEAR(seconds - 1, static_cast<double>(spans[0].durationMicros) * 1e-6, 2e-6);
}

}  // namespace
}  // namespace bloomery
