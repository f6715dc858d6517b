#include "data/RowStore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/Error.h"
#include "data/Formats.h"
#include "data/RowReader.h"

namespace bloomery::data {
namespace {

TEST(RowStore, givesBackWhatWasAppended) {
  struct {
    DType type;
    int64_t features;
  } cases[] = {{DType::kUint8, 784}, {DType::kUint8, 1},     {DType::kFloat32, 50},
               {DType::kFloat64, 3}, {DType::kInt16, 12345}, {DType::kInt64, 200000}};
  for (const auto& one : cases) {
    RowStore rows(oneClass(one.type, one.features));
    const int64_t count = std::min<int64_t>(3 * rows.rowsPerBlock() + 1, 5000);
    for (int64_t row = 0; row < count; ++row) {
      auto number = static_cast<uint64_t>(row);
      std::byte* place = rows.append(number << 40, static_cast<int32_t>(row % 10), static_cast<float>(row) / 2);
      std::memset(place, static_cast<int>(row % 251), rows.format().features[0].bytes());
    }
    ASSERT_EQ(rows.numRows(), count);
    for (int64_t row = 0; row < count; ++row) {
      ASSERT_EQ(rows.rowId(row), static_cast<uint64_t>(row) << 40);
      ASSERT_EQ(rows.label(row), static_cast<int32_t>(row % 10));
      ASSERT_EQ(rows.weight(row), static_cast<float>(row) / 2);
      for (size_t at : {size_t{0}, rows.format().features[0].bytes() - 1}) {
        ASSERT_EQ(rows.features(row)[at], static_cast<std::byte>(row % 251));
      }
    }
  }
}

TEST(RowStore, rowsNeverMove) {
  RowStore rows(oneClass(DType::kFloat32, 100));
  std::vector<std::byte*> places;
  for (uint64_t id = 0; id < 20000; ++id) places.push_back(rows.append(id, 0, 1));
  for (size_t row = 0; row < places.size(); ++row) ASSERT_EQ(rows.features(static_cast<int64_t>(row)), places[row]);
}

TEST(RowStore, featuresAreAlignedForTheirType) {
  for (int64_t features : {1, 3, 7, 13}) {
    RowStore rows(oneClass(DType::kFloat64, features));
    for (uint64_t id = 0; id < 100; ++id) {
      ASSERT_EQ(reinterpret_cast<uintptr_t>(rows.append(id, 0, 1)) % alignof(double), 0u);
    }
  }
}

TEST(RowStore, blockIsAMebibyteWhateverTheRows) {
  for (int64_t features : {1, 10, 784, 4096, 100000}) {
    RowStore rows(oneClass(DType::kUint8, features));
    rows.append(0, 0, 1);
    EXPECT_LE(rows.memoryBytes(), (1u << 20) + 256) << features;
    EXPECT_GE(rows.memoryBytes(), (1u << 20) * 9 / 10) << features;
  }
  RowStore large(oneClass(DType::kFloat32, 1 << 20));  // one row is more than a block
  EXPECT_EQ(large.rowsPerBlock(), 1);
}

TEST(RowStore, memoryGrowsByBlocksAndIsKeptByClear) {
  RowStore rows(oneClass(DType::kUint8, 784));
  EXPECT_EQ(rows.memoryBytes(), 0u);
  rows.append(0, 0, 1);
  const size_t block = rows.memoryBytes();
  const int64_t count = 4 * rows.rowsPerBlock() + 1;
  while (rows.numRows() < count) rows.append(0, 0, 1);
  EXPECT_EQ(rows.memoryBytes(), 5 * block);
  const std::byte* first = rows.features(0);
  rows.clear();
  EXPECT_EQ(rows.numRows(), 0);
  EXPECT_EQ(rows.memoryBytes(), 5 * block);
  while (rows.numRows() < count) rows.append(7, 3, 2);
  EXPECT_EQ(rows.memoryBytes(), 5 * block);
  EXPECT_EQ(rows.features(0), first);
  EXPECT_EQ(rows.rowId(count - 1), 7u);
}

TEST(RowStore, refusesRowsWithoutFeatures) { EXPECT_THROW(RowStore(oneClass(DType::kUint8, 0)), InternalError); }

TEST(RowStore, blocksOfOneInputAndOneClassHoldTheRowsTheyAlwaysDid) {
  EXPECT_EQ(RowStore(oneClass(DType::kUint8, 784)).rowsPerBlock(), (1 << 20) / (784 + 16));
  EXPECT_EQ(RowStore(oneClass(DType::kFloat32, 50)).rowsPerBlock(), (1 << 20) / (200 + 16));
}

TEST(RowStore, keepsSeveralInputsAndTargets) {
  RowStore rows({{{DType::kUint8, 3}, {DType::kFloat32, 5}}, {{4, true}, {6, false}}});
  EXPECT_EQ(rows.rowsPerBlock(), (1 << 20) / (3 + 20 + 4 + 24 + 12));
  const int64_t count = 2 * rows.rowsPerBlock() + 1;
  for (int64_t row = 0; row < count; ++row) {
    rows.append(static_cast<uint64_t>(row), 2.0f);
    std::memset(rows.features(row, 0), static_cast<int>(row % 251), 3);
    reinterpret_cast<float*>(rows.features(row, 1))[4] = static_cast<float>(row);
    rows.setLabel(row, 0, static_cast<int32_t>(row % 4));
    for (size_t i = 0; i < 6; ++i) rows.values(row, 1)[i] = static_cast<float>(row) + static_cast<float>(i);
  }
  for (int64_t row = 0; row < count; ++row) {
    ASSERT_EQ(rows.features(row, 0)[2], static_cast<std::byte>(row % 251));
    ASSERT_EQ(reinterpret_cast<const float*>(rows.features(row, 1))[4], static_cast<float>(row));
    ASSERT_EQ(rows.label(row, 0), row % 4);
    ASSERT_EQ(rows.values(row, 1)[5], static_cast<float>(row) + 5.0f);
    ASSERT_EQ(rows.rowId(row), static_cast<uint64_t>(row));
    ASSERT_EQ(rows.weight(row), 2.0f);
  }
}

TEST(RowStore, weightsThatAreAllOneTakeNoMemory) {
  RowFormat format = oneClass(DType::kFloat32, 1);
  RowStore weighted(format);
  format.hasWeights = false;
  RowStore rows(format);
  EXPECT_EQ(rows.rowsPerBlock(), weighted.rowsPerBlock()) << "the order of rows is the same";
  const int64_t count = 2 * rows.rowsPerBlock() + 1;
  for (int64_t row = 0; row < count; ++row) {
    weighted.append(static_cast<uint64_t>(row), 0, 1);
    rows.append(static_cast<uint64_t>(row), 0, 1);
  }
  size_t saved = static_cast<size_t>(3 * rows.rowsPerBlock()) * sizeof(float);
  EXPECT_LE(rows.memoryBytes(), weighted.memoryBytes() - saved + size_t{3 * 64});
  for (int64_t row : {int64_t{0}, rows.rowsPerBlock() - 1, rows.rowsPerBlock(), count - 1}) {
    EXPECT_EQ(rows.weight(row), 1.0f);
  }
  EXPECT_THROW(rows.append(0, 0.5f), InternalError);
}

// Ids of rows that come in runs of these lengths: each begins far behind the one before.
void expectIdsOfRuns(const std::vector<int64_t>& lengths) {
  RowStore rows(noTarget(DType::kUint8, 4));
  for (int round = 0; round < 2; ++round) {
    std::vector<uint64_t> wanted;
    uint64_t first = static_cast<uint64_t>(round) + 7;
    for (int64_t length : lengths) {
      for (int64_t done = 0; done < length;)
        done += rows.appendRows(first + static_cast<uint64_t>(done), length - done);
      for (int64_t i = 0; i < length; ++i) wanted.push_back(first++);
      first += uint64_t{1} << 40;
    }
    ASSERT_EQ(rows.numRows(), static_cast<int64_t>(wanted.size()));
    RowReader reader(rows);
    auto lock = reader.lock();
    for (size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(rows.rowId(static_cast<int64_t>(row)), wanted[row]) << row;
      ASSERT_EQ(reader.row(static_cast<int64_t>(row)).rowId(), wanted[row]) << row;
    }
    rows.clear();
  }
}

TEST(RowStore, idsAreTheirOwnWhetherTheyCountOnOrNot) {
  const int64_t block = RowStore(noTarget(DType::kUint8, 4)).rowsPerBlock();
  expectIdsOfRuns({3 * block});
  expectIdsOfRuns({block, block, 5});
  expectIdsOfRuns({10, block, 1, 1, 2 * block, block - 12, 100});
  expectIdsOfRuns(std::vector<int64_t>(1000, 1));
}

TEST(RowStore, idsCanBeReadWhileTheyStopCountingOn) {
  constexpr uint64_t kCountOn = 10'000, kRows = 20'000;
  auto idOf = [](uint64_t row) { return row < kCountOn ? row : 3 * row; };
  RowStore rows(noTarget(DType::kUint8, 4));
  std::thread ingest([&] {
    for (uint64_t row = 0; row < kRows; ++row) {
      rows.append(idOf(row), 1);
      rows.publish();
    }
    rows.finish();
  });
  RowReader reader(rows);
  for (Arrived arrived; !arrived.all;) {
    arrived = rows.awaitRows(arrived.rows + 100, std::chrono::seconds(20));
    auto lock = reader.lock();
    for (int64_t row = std::max<int64_t>(0, arrived.rows - 200); row < arrived.rows; ++row) {
      EXPECT_EQ(reader.row(row).rowId(), idOf(static_cast<uint64_t>(row)));
    }
  }
  ingest.join();
  EXPECT_EQ(rows.numRows(), static_cast<int64_t>(kRows));
}

TEST(RowStore, targetsAreSettledBeforeTheFirstRow) {
  RowStore rows(oneClass(DType::kUint8, 4));
  rows.settleTarget(0, false);
  EXPECT_EQ(rows.rowsPerBlock(), (1 << 20) / (4 + 40 + 12));
  rows.append(0, 1.0f);
  EXPECT_THROW(rows.settleTarget(0, true), InternalError);
  rows.settleTarget(0, false);
}

}  // namespace
}  // namespace bloomery::data
