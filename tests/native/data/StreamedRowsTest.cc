#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/Random.h"
#include "data/Formats.h"
#include "data/StepRows.h"

namespace bloomery::data {
namespace {

void append(RowStore& rows, int64_t count) {
  for (int64_t i = 0; i < count; ++i) rows.append(static_cast<uint64_t>(rows.numRows()), 0, 1);
}

// All steps, with rows that come in lots of these sizes, over and over, as soon as they are wanted.
std::vector<std::vector<int64_t>> walk(int64_t numRows, int64_t batchSize, int64_t buffer, uint64_t seed,
                                       const std::vector<int64_t>& lots) {
  RowStore rows(oneClass(DType::kUint8, 1));
  StreamedRows steps(rows, batchSize, buffer, seed);
  std::vector<std::vector<int64_t>> walked;
  std::vector<int64_t> step(static_cast<size_t>(batchSize));
  for (size_t lot = 0;;) {
    if (!steps.awaitNext()) {
      append(rows, std::min(lots[lot++ % lots.size()], numRows - rows.numRows()));
      rows.numRows() == numRows ? rows.finish() : rows.publish();
      continue;
    }
    size_t count = steps.next(step);
    if (count == 0) return walked;
    walked.emplace_back(step.begin(), step.begin() + static_cast<int64_t>(count));
  }
}

std::vector<int64_t> flat(const std::vector<std::vector<int64_t>>& steps) {
  std::vector<int64_t> rows;
  for (const auto& step : steps) rows.insert(rows.end(), step.begin(), step.end());
  return rows;
}

std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(StreamedRows, bringsEveryRowOnceHoweverManyThereAre) {
  for (int64_t numRows : {0, 1, 5, 63, 64, 65, 500}) {
    for (int64_t buffer : {1, 2, 64, 1000}) {
      auto rows = flat(walk(numRows, 16, buffer, 7, {13, 40}));
      std::sort(rows.begin(), rows.end());
      EXPECT_EQ(rows, upTo(numRows)) << numRows << " rows through " << buffer;
    }
  }
}

TEST(StreamedRows, stepsAreTheSameWheneverRowsCome) {
  auto wanted = walk(700, 32, 100, 3, {700});
  for (const std::vector<int64_t>& lots : {std::vector<int64_t>{1}, {7, 0, 200}, {131}}) {
    EXPECT_EQ(walk(700, 32, 100, 3, lots), wanted);
  }
  EXPECT_NE(walk(700, 32, 100, 4, {700}), wanted);
}

TEST(StreamedRows, aBufferOfOneKeepsTheOrder) { EXPECT_EQ(flat(walk(100, 8, 1, 5, {3})), upTo(100)); }

TEST(StreamedRows, aRowComesAtMostABufferEarly) {
  auto rows = flat(walk(2000, 16, 50, 9, {100}));
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_LT(rows[i], static_cast<int64_t>(i) + 50);
  int64_t moved = 0;
  for (size_t i = 0; i < rows.size(); ++i) moved += rows[i] == static_cast<int64_t>(i) ? 0 : 1;
  EXPECT_GT(moved, 1900);
}

TEST(StreamedRows, aStepWaitsForEveryRowItCouldTake) {
  RowStore rows(oneClass(DType::kUint8, 1));
  StreamedRows steps(rows, 4, 10, 1);
  append(rows, 12);
  rows.publish();
  EXPECT_FALSE(steps.awaitNext());
  append(rows, 1);
  EXPECT_FALSE(steps.awaitNext()) << "not published yet";
  rows.publish();
  EXPECT_TRUE(steps.awaitNext());
}

TEST(StreamedRows, awaitingEndsWhenRowsCome) {
  RowStore rows(oneClass(DType::kUint8, 1));
  std::thread ingest([&] {
    for (int i = 0; i < 50; ++i) {
      append(rows, 5);
      rows.publish();
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    rows.finish();
  });
  for (int64_t wanted = 5; wanted <= 250; wanted += 5) {
    EXPECT_GE(rows.awaitRows(wanted, std::chrono::seconds(20)).rows, wanted);
  }
  EXPECT_TRUE(rows.awaitAll(std::chrono::seconds(20)));
  ingest.join();
}

TEST(StreamedRows, whoAwaitsManyRowsIsNotWokenByFew) {
  RowStore rows(oneClass(DType::kUint8, 1));
  long timesAsleep = 0;
  std::thread waiting([&] {
    EXPECT_GE(rows.awaitRows(500, std::chrono::seconds(20)).rows, 500);
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    timesAsleep = used.ru_nvcsw;
  });
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    append(rows, 5);
    rows.publish();
  }
  waiting.join();
  EXPECT_LT(timesAsleep, 20);
}

}  // namespace
}  // namespace bloomery::data
