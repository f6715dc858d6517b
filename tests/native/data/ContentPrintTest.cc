#include "data/ContentPrint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/Random.h"
#include "data/Formats.h"
#include "data/LateValues.h"
#include "data/RowStore.h"

namespace bloomery::data {
namespace {

constexpr uint64_t kRows = 1000;

// Row `number` holds the same wherever it lies.
void append(RowStore& rows, uint64_t number, uint64_t id) {
  std::byte* features = rows.append(id, static_cast<int32_t>(number % 10), 1.0f + static_cast<float>(number % 3));
  size_t bytes = rows.format().features[0].bytes();
  for (size_t i = 0; i < bytes; i += sizeof(RandomBlock)) {
    RandomBlock block = philox(5, number, i);
    std::memcpy(features + i, &block, std::min(sizeof(block), bytes - i));
  }
}

uint64_t contentsOf(const RowFormat& format, const std::vector<uint64_t>& numbers, uint64_t firstId = 0,
                    const std::function<void(RowStore&)>& change = {}) {
  RowStore rows(format);
  rows.printContents();
  for (uint64_t number : numbers) {
    append(rows, number, firstId++);
    if (change) change(rows);
    rows.filled(rows.numRows() - 1, 1);
  }
  return rows.contents();
}

std::vector<uint64_t> numbers(uint64_t first, uint64_t count) {
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

TEST(ContentPrint, neitherOrderNorIdsNorWhoKeepsRowsCounts) {
  for (const RowFormat& format : {oneClass(DType::kUint8, 784), oneClass(DType::kUint8, 1), oneClass(DType::kUint8, 13),
                                  oneClass(DType::kFloat32, 50), oneClass(DType::kFloat64, 5000)}) {
    uint64_t all = contentsOf(format, numbers(0, kRows));
    std::vector<uint64_t> reversed = numbers(0, kRows);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_NE(all, 0u);
    EXPECT_EQ(contentsOf(format, reversed), all);
    EXPECT_EQ(contentsOf(format, numbers(0, kRows), 77), all);
    EXPECT_EQ(contentsOf(format, numbers(0, 300)) + contentsOf(format, numbers(300, kRows - 300)), all);
  }
}

TEST(ContentPrint, whatOneRowHoldsOtherwiseCounts) {
  struct {
    const char* name;
    std::function<void(RowStore&, int64_t row)> change;
  } cases[] = {
      {"label", [](RowStore& rows, int64_t row) { rows.setLabel(row, 0, rows.label(row) + 1); }},
      {"first value", [](RowStore& rows, int64_t row) { rows.features(row)[0] ^= std::byte{1}; }},
      {"last value", [](RowStore& rows, int64_t row) { rows.features(row)[44] ^= std::byte{1}; }},
  };
  RowFormat format = oneClass(DType::kUint8, 45);
  uint64_t before = contentsOf(format, numbers(0, kRows));
  for (const auto& one : cases) {
    auto change = [&](RowStore& rows) {
      if (rows.numRows() == 500) one.change(rows, 499);
    };
    EXPECT_NE(contentsOf(format, numbers(0, kRows), 0, change), before) << one.name;
  }
}

TEST(ContentPrint, anyValueOfAWideRowThatIsOtherInAllRowsCounts) {
  RowFormat format = oneClass(DType::kFloat32, 100);
  uint64_t before = contentsOf(format, numbers(0, kRows));
  for (size_t value = 0; value < 100; ++value) {
    auto change = [&](RowStore& rows) { rows.features(rows.numRows() - 1)[value * sizeof(float)] ^= std::byte{1}; };
    EXPECT_NE(contentsOf(format, numbers(0, kRows), 0, change), before) << value;
  }
}

TEST(ContentPrint, weightsCount) {
  RowStore one(noTarget(DType::kUint8, 4)), two(noTarget(DType::kUint8, 4));
  one.printContents();
  two.printContents();
  one.append(0, 1.0f);
  two.append(0, 2.0f);
  for (RowStore* rows : {&one, &two}) {
    std::memset(rows->features(0), 7, 4);
    rows->filled(rows->numRows() - 1, 1);
  }
  EXPECT_NE(one.contents(), two.contents());
}

TEST(ContentPrint, weightsOfOneCountAsIfTheyWereKept) {
  RowFormat format = oneClass(DType::kFloat32, 1);
  std::vector<uint64_t> contents, ids;
  for (bool hasWeights : {true, false}) {
    format.hasWeights = hasWeights;
    RowStore rows(format);
    rows.printContents();
    for (uint64_t id = 0; id < 100'000; ++id) {
      float value = static_cast<float>(id);
      std::memcpy(rows.append(id, static_cast<int32_t>(id % 10), 1), &value, sizeof(value));
      rows.filled(rows.numRows() - 1, 1);
    }
    contents.push_back(rows.contents());
    ids.push_back(rows.idHash());
  }
  EXPECT_EQ(contents[0], contents[1]);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_NE(ids[0], 0u);
}

// Values and labels are the same ones, but in other rows.
TEST(ContentPrint, whichLabelGoesWithWhichValuesCounts) {
  auto swapped = [](RowStore& rows) {
    int64_t row = rows.numRows() - 1;
    if (row == 3 || row == 4) rows.setLabel(row, 0, row == 3 ? 4 : 3);
  };
  RowFormat format = oneClass(DType::kFloat32, 8);
  EXPECT_NE(contentsOf(format, numbers(0, 10), 0, swapped), contentsOf(format, numbers(0, 10)));
}

TEST(ContentPrint, targetsOfValuesCount) {
  auto print = [](float last) {
    RowStore rows({{{DType::kUint8, 3}, {DType::kFloat32, 5}}, {{4, true}, {7, false}}});
    rows.printContents();
    rows.append(0, 1.0f);
    std::memset(rows.features(0, 0), 1, 3);
    std::memset(rows.features(0, 1), 1, 5 * sizeof(float));
    rows.setLabel(0, 0, 2);
    std::fill_n(rows.values(0, 1), 7, 0.5f);
    rows.values(0, 1)[6] = last;
    rows.filled(rows.numRows() - 1, 1);
    return rows.contents();
  };
  EXPECT_EQ(print(0.5f), print(0.5f));
  EXPECT_NE(print(0.5f), print(0.25f));
}

// Codes are given in the order in which words come; marks for what is null are not.
TEST(ContentPrint, codesOfWordsThatAreStillLearntDoNotCount) {
  auto vocabulary = std::make_shared<LateVocabulary>("c", CategoryRule{.learns = true});
  vocabulary->place(1, 1);
  auto means = std::make_shared<LateMeans>("x");
  means->place(2, 2);
  RowFormat format = oneClass(DType::kFloat32, 4);
  format.features[0].late = {vocabulary, means};
  auto print = [&](size_t place, float value) {
    RowStore rows(format);
    rows.printContents();
    auto* values = reinterpret_cast<float*>(rows.append(0, 3, 1.0f));
    for (size_t i = 0; i < 4; ++i) values[i] = i == place ? value : 1.0f;
    rows.filled(rows.numRows() - 1, 1);
    return rows.contents();
  };
  EXPECT_EQ(print(1, 1), print(1, 2));
  for (size_t place : {0, 2, 3}) EXPECT_NE(print(place, 1), print(place, 2)) << place;
}

TEST(ContentPrint, nothingIsCountedUnlessItIsAskedFor) {
  RowStore rows(oneClass(DType::kUint8, 4));
  append(rows, 1, 1);
  rows.filled(rows.numRows() - 1, 1);
  EXPECT_EQ(rows.contents(), 0u);
}

TEST(ContentPrint, rowsThatAreForgottenDoNotCount) {
  RowStore rows(oneClass(DType::kUint8, 4));
  rows.printContents();
  append(rows, 1, 1);
  rows.filled(rows.numRows() - 1, 1);
  uint64_t first = rows.contents();
  rows.clear();
  EXPECT_EQ(rows.contents(), 0u);
  append(rows, 1, 1);
  rows.filled(rows.numRows() - 1, 1);
  EXPECT_EQ(rows.contents(), first);
}

}  // namespace
}  // namespace bloomery::data
