#include "data/Order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// A permutation of three has six outcomes; each must come up about as often as the others.
TEST(Permutation, smallOnesComeUpEquallyOften) {
  int counts[27] = {};
  constexpr int kDraws = 60000;
  for (uint64_t key = 0; key < kDraws; ++key) {
    Permutation permutation(3, key);
    ++counts[permutation.at(0) * 9 + permutation.at(1) * 3 + permutation.at(2)];
  }
  EXPECT_EQ(std::count(std::begin(counts), std::end(counts), 0), 27 - 6);
  for (int count : counts) {
    if (count == 0) continue;
    EXPECT_NEAR(count, kDraws / 6, 600);
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

// Every place that the short last block can get: in the first, a middle and the last window, at its ends and inside.
TEST(Order, visitsEveryRowOnceWhereverTheShortBlockLands) {
  for (uint64_t seed = 0; seed < 400; ++seed)
    expectEveryRowOnce(rowsOf(Order(64 * 4 * 3 + 9 * 4 + 1, 4, seed, 1, true)));
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

TEST(Order, needsFewBlocksAtATime) {
  constexpr int64_t kRowsPerBlock = 50, kWindow = 64 * kRowsPerBlock;
  auto rows = rowsOf(Order(10 * kWindow, kRowsPerBlock, 3, 1, true));
  for (int64_t first = 0; first < 10 * kWindow; first += kWindow) {
    std::vector<bool> blocks(10 * 64);
    for (int64_t i = first; i < first + kWindow; ++i)
      blocks[static_cast<size_t>(rows[static_cast<size_t>(i)] / kRowsPerBlock)] = true;
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), true), 64);
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

}  // namespace
}  // namespace bloomery::data
