#include "data/Order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/Error.h"
#include "data/StepRows.h"

namespace bloomery::data {
namespace {

std::vector<int64_t> rowsOf(const Order& order) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < order.numRows(); ++i) rows.push_back(order.at(i));
  return rows;
}

void expectEveryRowOnce(const std::vector<int64_t>& rows) {
  std::vector<bool> seen(rows.size());
  for (int64_t row : rows) {
    ASSERT_GE(row, 0);
    ASSERT_LT(row, static_cast<int64_t>(rows.size()));
    ASSERT_FALSE(seen[static_cast<size_t>(row)]) << "row " << row << " twice";
    seen[static_cast<size_t>(row)] = true;
  }
}

TEST(Permutation, isOneAndKnowsItsInverse) {
  for (uint64_t size = 1; size <= 300; ++size) {
    Permutation permutation(size, size * 77);
    std::vector<bool> seen(size);
    for (uint64_t i = 0; i < size; ++i) {
      uint64_t value = permutation.at(i);
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]);
      seen[value] = true;
      ASSERT_EQ(permutation.inverse(value), i);
    }
  }
  Permutation large(1000000007ull * 1000, 5);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(large.inverse(large.at(i * 999983)), i * 999983);
}

// All outcomes of a small permutation must come up about equally often: chi-squared per degree of freedom is near 1.
TEST(Permutation, smallOnesComeUpEquallyOften) {
  for (uint64_t size = 2; size <= 5; ++size) {
    constexpr double kDraws = 60000;
    double numOutcomes = 1;
    for (uint64_t i = 2; i <= size; ++i) numOutcomes *= static_cast<double>(i);
    std::map<std::vector<uint64_t>, double> counts;
    for (uint64_t key = 0; key < kDraws; ++key) {
      Permutation permutation(size, key);
      std::vector<uint64_t> outcome(size);
      for (uint64_t i = 0; i < size; ++i) outcome[i] = permutation.at(i);
      ++counts[outcome];
    }
    ASSERT_EQ(static_cast<double>(counts.size()), numOutcomes);
    double expected = kDraws / numOutcomes, sum = 0;
    for (const auto& [outcome, count] : counts) sum += (count - expected) * (count - expected) / expected;
    EXPECT_LT(sum / (numOutcomes - 1), 4.0) << size;
  }
}

TEST(Order, visitsEveryRowOnceForAnySize) {
  for (int64_t rowsPerBlock : {1, 2, 3, 7, 64, 1337}) {
    for (int64_t numRows : {0, 1, 2, 3, 5, 8, 63, 64, 65, 127, 128, 129, 447, 448, 449, 1000, 4096, 20011}) {
      for (int64_t epoch : {1, 2}) {
        expectEveryRowOnce(rowsOf(Order(numRows, rowsPerBlock, 42, epoch, true)));
        if (testing::Test::HasFatalFailure()) FAIL() << numRows << " rows in blocks of " << rowsPerBlock;
      }
    }
  }
}

// Every place that the short last block can get: in the first, a middle and the last window, in one with a block more
// than others, at its ends and inside.
TEST(Order, visitsEveryRowOnceWhereverTheShortBlockLands) {
  for (uint64_t seed = 0; seed < 400; ++seed)
    expectEveryRowOnce(rowsOf(Order(64 * 4 * 3 + 9 * 4 + 1, 4, seed, 1, true)));
}

// Of all numbers of blocks up to some windows, and of many: as few windows as memory allows, none narrower than others.
TEST(Order, windowsHaveEqualNumbersOfBlocks) {
  std::vector<int64_t> sizes;
  for (int64_t numBlocks = 1; numBlocks <= 700; ++numBlocks) sizes.push_back(numBlocks);
  for (int64_t numBlocks : {100003, 64 * 1000, 64 * 1000 + 1, 64 * 1001 - 1}) sizes.push_back(numBlocks);
  for (int64_t numBlocks : sizes) {
    Order order(numBlocks * 3 - 1, 3, 9, 1, true);
    ASSERT_EQ(order.numBlocks(), numBlocks);
    ASSERT_EQ(order.numWindows(), (numBlocks + 63) / 64);
    ASSERT_EQ(order.firstPlace(0), 0);
    ASSERT_EQ(order.firstPlace(order.numWindows()), numBlocks);
    int64_t least = numBlocks, most = 0;
    for (int64_t window = 0; window < order.numWindows(); ++window) {
      int64_t size = order.firstPlace(window + 1) - order.firstPlace(window);
      least = std::min(least, size);
      most = std::max(most, size);
    }
    ASSERT_LE(most, Order::kMaxBlocksPerWindow) << numBlocks << " blocks";
    ASSERT_LE(most - least, 1) << numBlocks << " blocks";
  }
}

// Sorted rows, one block more than a window takes: the last batches of an epoch must show as much as the first.
TEST(Order, theEndOfAnEpochComesFromAllOverTheRows) {
  constexpr int64_t kRowsPerBlock = 400, kBlocks = 65, kRows = kBlocks * kRowsPerBlock;
  for (int64_t epoch = 1; epoch <= 20; ++epoch) {
    Order order(kRows, kRowsPerBlock, 11, epoch, true);
    std::set<int64_t> blocks;
    for (int64_t position = kRows - 200; position < kRows; ++position)
      blocks.insert(order.at(position) / kRowsPerBlock);
    EXPECT_GE(blocks.size(), 28u) << "epoch " << epoch;
    EXPECT_LT(*blocks.begin(), kBlocks / 4) << "epoch " << epoch;
    EXPECT_GT(*blocks.rbegin(), kBlocks * 3 / 4) << "epoch " << epoch;
  }
}

TEST(Order, differsByEpochAndSeedAndIsTheSameTwice) {
  auto first = rowsOf(Order(5000, 100, 1, 1, true));
  EXPECT_EQ(first, rowsOf(Order(5000, 100, 1, 1, true)));
  EXPECT_NE(first, rowsOf(Order(5000, 100, 1, 2, true)));
  EXPECT_NE(first, rowsOf(Order(5000, 100, 2, 1, true)));
}

TEST(Order, isTheIdentityWithoutShuffling) {
  auto rows = rowsOf(Order(5000, 100, 1, 1, false));
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<int64_t>(i));
}

TEST(Order, needsAtMostSixtyFourBlocksAtATime) {
  constexpr int64_t kRowsPerBlock = 50, kWindow = 64 * kRowsPerBlock;
  Order order(10 * kWindow, kRowsPerBlock, 3, 1, true);
  auto numBlocks = [&](int64_t first, int64_t count) {
    std::set<int64_t> blocks;
    for (int64_t i = first; i < first + count; ++i) blocks.insert(order.at(i) / kRowsPerBlock);
    return blocks.size();
  };
  for (int64_t first = 0; first < 10 * kWindow; first += kWindow) {
    EXPECT_EQ(numBlocks(first, kWindow), 64u);
    EXPECT_EQ(numBlocks(first, kWindow / 2), 64u);  // and mixes them all
  }
}

// Where a row lands must tell nothing about which row it is: rank correlation and the spread of neighbours.
TEST(Order, looksShuffled) {
  constexpr int64_t kRows = 30000;
  for (int64_t epoch = 1; epoch <= 5; ++epoch) {
    auto rows = rowsOf(Order(kRows, 1337, 7, epoch, true));
    double mean = (kRows - 1) / 2.0, covariance = 0, distance = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      auto row = static_cast<double>(rows[static_cast<size_t>(i)]);
      covariance += (static_cast<double>(i) - mean) * (row - mean);
      if (i > 0) distance += std::abs(row - static_cast<double>(rows[static_cast<size_t>(i - 1)]));
    }
    double variance = (static_cast<double>(kRows) * kRows - 1) / 12.0 * kRows;
    EXPECT_NEAR(covariance / variance, 0, 0.03);
    EXPECT_NEAR(distance / kRows, kRows / 3.0, kRows * 0.01);  // of two random places, on average a third
  }
}

TEST(OrderedRows, cutsAnEpochIntoSteps) {
  OrderedRows steps(Order(10, 4, 0, 1, false), 4);
  std::vector<int64_t> rows(6, -1);
  EXPECT_EQ(steps.next(rows), 4u);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 1, 2, 3, -1, -1}));
  EXPECT_EQ(steps.next(rows), 4u);
  EXPECT_EQ(steps.next(rows), 2u);
  EXPECT_EQ(rows, (std::vector<int64_t>{8, 9, 6, 7, -1, -1}));
  EXPECT_EQ(steps.next(rows), 0u);
  EXPECT_EQ(steps.next(rows), 0u);
}

TEST(OrderedRows, hasNoStepWithoutRows) {
  OrderedRows steps(Order(0, 4, 0, 1, true), 4);
  std::vector<int64_t> rows(4);
  EXPECT_EQ(steps.next(rows), 0u);
}

TEST(ExplicitRows, givesTheStepsAsTheyAre) {
  ExplicitRows steps({{3, 1}, {2}, {0, 0, 0}});
  std::vector<int64_t> rows(3);
  EXPECT_EQ(steps.next(rows), 2u);
  EXPECT_EQ(rows[0], 3);
  EXPECT_EQ(steps.next(rows), 1u);
  EXPECT_EQ(rows[0], 2);
  EXPECT_EQ(steps.next(rows), 3u);
  EXPECT_EQ(steps.next(rows), 0u);
}

TEST(StepRows, refusesWhatCannotWork) {
  EXPECT_THROW(OrderedRows(Order(10, 4, 0, 1, false), 0), InternalError);
  EXPECT_THROW(ExplicitRows({{1}, {}}), InternalError);
  std::vector<int64_t> tooShort(1);
  OrderedRows ordered(Order(10, 4, 0, 1, false), 2);
  EXPECT_THROW(ordered.next(tooShort), InternalError);
  ExplicitRows explicitRows({{1, 2}});
  EXPECT_THROW(explicitRows.next(tooShort), InternalError);
}

TEST(Order, windowsAndTheirBlocksHoldTheRowsOfTheirPositions) {
  for (bool shuffle : {true, false}) {
    for (int64_t numRows : {1, 5, 640, 641, 1280, 1999}) {
      Order order(numRows, 10, 3, 1, shuffle);
      int64_t before = 0;
      for (int64_t position = 0; position < numRows; ++position) {
        int64_t window = order.windowOf(position);
        ASSERT_TRUE(window == before || window == before + 1);
        before = window;
        int64_t block = order.at(position) / 10, end = order.firstPlace(window + 1);
        bool found = false;
        for (int64_t place = order.firstPlace(window); place < end; ++place)
          found = found || order.blockAt(place) == block;
        ASSERT_TRUE(found) << "position " << position << " of " << numRows;
      }
      EXPECT_EQ(before, order.numWindows() - 1);
    }
  }
}

}  // namespace
}  // namespace bloomery::data
