#include "tensor/GradientRows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bloomery {
namespace {

struct Table {
  Table() { layout.add("table", {kRows, kWidth}); }

  static constexpr int64_t kRows = 200, kWidth = 3;
  ArenaLayout layout;
  Arena arena{kRows * kWidth};
  TouchedRows rows{TensorView{arena.all().data(), {kRows, kWidth}}};
};

std::vector<int32_t> rowsOf(TouchedRows& rows) { return {rows.rows().begin(), rows.rows().end()}; }

TEST(TouchedRows, areSortedAndCountOnce) {
  Table table;
  for (int64_t row : {150, 7, 64, 7, 63, 150, 0}) table.rows.mark(row);
  EXPECT_EQ(rowsOf(table.rows), (std::vector<int32_t>{0, 7, 63, 64, 150}));
  EXPECT_EQ(table.rows.count(), 5);
  table.rows.mark(8);
  EXPECT_EQ(rowsOf(table.rows), (std::vector<int32_t>{0, 7, 8, 63, 64, 150}));
}

TEST(TouchedRows, neighboursMakeOneStretch) {
  Table table;
  for (int64_t row : {9, 199, 8, 3}) table.rows.mark(row);
  std::vector<std::pair<size_t, size_t>> stretches;
  table.rows.forStretches([&](size_t first, size_t size) { stretches.emplace_back(first, size); });
  EXPECT_EQ(stretches, (std::vector<std::pair<size_t, size_t>>{{9, 3}, {24, 6}, {597, 3}}));
}

TEST(TouchedRows, clearZeroesWhatWasMarkedAndNothingElse) {
  Table table;
  std::ranges::fill(table.arena.all(), 1.0f);
  for (int64_t row : {5, 130}) table.rows.mark(row);
  table.rows.zero();
  EXPECT_EQ(table.rows.count(), 2);
  table.rows.clear();
  EXPECT_EQ(table.rows.count(), 0);
  for (int64_t row = 0; row < Table::kRows; ++row) {
    for (float value : table.rows.row(row)) EXPECT_EQ(value, row == 5 || row == 130 ? 0.0f : 1.0f) << row;
  }
  table.rows.mark(5);  // forgotten rows can be marked again
  EXPECT_EQ(rowsOf(table.rows), (std::vector<int32_t>{5}));
}

TEST(TouchedRows, aboveAQuarterAllCount) {
  Table table;
  std::ranges::fill(table.arena.all(), 1.0f);
  for (int64_t row = 0; row < 50; ++row) table.rows.mark(4 * row);
  EXPECT_FALSE(table.rows.all());
  table.rows.mark(4);
  EXPECT_FALSE(table.rows.all());
  table.rows.mark(5);
  EXPECT_TRUE(table.rows.all());
  EXPECT_EQ(table.rows.count(), Table::kRows);
  table.rows.clear();
  EXPECT_FALSE(table.rows.all());
  EXPECT_EQ(table.rows.count(), 0);
  for (float value : table.arena.all()) EXPECT_EQ(value, 0.0f);
}

TEST(TouchedRows, takeOverThoseOfAnotherTable) {
  Table one, other;
  for (int64_t row : {5, 130}) one.rows.mark(row);
  for (int64_t row : {6, 130}) other.rows.mark(row);
  one.rows.mark(other.rows);
  EXPECT_EQ(rowsOf(one.rows), (std::vector<int32_t>{5, 6, 130}));
  other.rows.markAll();
  one.rows.mark(other.rows);
  EXPECT_TRUE(one.rows.all());
}

TEST(GradientRows, clearTheWholeArena) {
  ArenaLayout layout;
  for (const char* name : {"a", "b", "c"}) layout.add(name, {40, 5});
  Arena arena(layout.numFloats() + 16);
  GradientRows rows(arena, layout, {0, 2});
  EXPECT_EQ(rows.find(1), nullptr);
  EXPECT_EQ(rows.find(3), nullptr);
  for (size_t slice : {0u, 2u}) {
    rows.find(slice)->mark(7);
    std::ranges::fill(rows.find(slice)->row(7), 1.0f);
  }
  std::ranges::fill(arena.view(layout.slices()[1]).span(), 1.0f);
  arena.all().back() = 1.0f;
  rows.clearArena();
  for (float value : arena.all()) EXPECT_EQ(value, 0.0f);
  EXPECT_EQ(rows.find(2)->count(), 0);
}

}  // namespace
}  // namespace bloomery
