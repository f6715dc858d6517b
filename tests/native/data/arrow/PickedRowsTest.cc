#include "data/arrow/PickedRows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/TemporaryFolder.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/ArrowResult.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/Batches.h"
#include "data/arrow/MemorySource.h"
#include "data/arrow/ParquetWriter.h"

namespace bloomery::data {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const auto kFloats = arrow::list(arrow::float32());

// A file with rows of features (1000 * index + i, -i), so many to a row group.
std::string fileOf(int index, int rows, int rowsPerGroup) {
  std::string x;
  for (int i = 0; i < rows; ++i) x += message(i == 0 ? "[" : ", [", 1000 * index + i, ", ", -i, "]");
  TemporaryFolder folder;
  writeParquet(folder / "a.parquet", batchOf({{"x", kFloats, "[" + x + "]"}}), {.rowsPerGroup = rowsPerGroup});
  return folder.read("a.parquet");
}

struct Picks {
  explicit Picks(int threads = 1) {
    auto files = arrow::schema({arrow::field("x", kFloats)});
    auto own = arrow::schema({arrow::field("y", arrow::int32()), arrow::field("row", arrow::int64())});
    auto exported = [](const auto& schema, auto& to) { EXPECT_TRUE(arrow::ExportSchema(*schema, &to.value).ok()); };
    Exported<ArrowSchema> ofScan, ofFiles, ofRows;
    exported(files, ofScan);
    exported(files, ofFiles);
    exported(own, ofRows);
    scan = std::make_shared<ParquetScan>(&ofScan.value, nullptr, threads, int64_t{8} << 20);
    rows.emplace(scan, &ofFiles.value, &ofRows.value);
  }

  std::shared_ptr<MemorySource> add(const std::string& bytes, int index, const std::vector<int>& groups) {
    auto source = std::make_shared<MemorySource>(message("file ", index), bytes);
    scan->add(source, index, groups, nullptr);
    return source;
  }

  // Each with 7 times its number as its own column.
  void pick(int file, const std::vector<int64_t>& numbers) {
    std::string y = "[", row = "[";
    for (int64_t number : numbers) {
      const char* comma = number == numbers.front() ? "" : ", ";
      y += message(comma, 7 * number);
      row += message(comma, number);
    }
    auto batch = batchOf({{"y", arrow::int32(), y + "]"}, {"row", arrow::int64(), row + "]"}});
    Exported<ArrowArray> exported;
    exportBatch(*batch, exported.value);
    rows->pick(&exported.value, file);
    EXPECT_EQ(exported.value.release, nullptr);
  }

  // First features of all that were picked, after checking that each row's columns are of one row.
  std::vector<int> rest(int file) {
    auto schema = arrow::schema({arrow::field("x", kFloats), arrow::field("y", arrow::int32())});
    std::vector<int> found;
    while (void* array = rows->next(seconds(20))) {
      auto batch = importBatch(array, schema);
      EXPECT_TRUE(batch->ValidateFull().ok());
      EXPECT_EQ(batch->num_rows(), rows->numRows());
      const auto& lists = static_cast<const arrow::ListArray&>(*batch->column(0));
      const auto& values = static_cast<const arrow::FloatArray&>(*lists.values());
      const auto& own = static_cast<const arrow::Int32Array&>(*batch->column(1));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        found.push_back(static_cast<int>(values.Value(lists.value_offset(i))));
        EXPECT_EQ(own.Value(i), 7 * (found.back() - 1000 * file));
      }
    }
    return found;
  }

  std::shared_ptr<ParquetScan> scan;
  std::optional<PickedRows> rows;
};

std::vector<int> numbersOf(int file, const std::vector<int64_t>& numbers) {
  std::vector<int> found;
  for (int64_t number : numbers) found.push_back(1000 * file + static_cast<int>(number));
  return found;
}

TEST(PickedRows, comeWithTheirOwnColumnsFromAllRowGroupsThatHoldThem) {
  for (int threads : {1, 3}) {
    Picks picks(threads);
    picks.add(fileOf(2, 100, 10), 2, {0, 1, 2, 3, 4});
    for (const std::vector<int64_t>& numbers :
         std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 7, 9, 10, 11, 19}, {21}, {40, 41, 42, 43, 49}}) {
      picks.pick(2, numbers);
      EXPECT_EQ(picks.rest(2), numbersOf(2, numbers));
    }
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

TEST(PickedRows, whatNobodyPicksIsPassedOver) {
  Picks picks;
  picks.add(fileOf(0, 40, 10), 0, {0, 1, 2, 3});
  picks.add(fileOf(1, 40, 10), 1, {2});
  picks.add(fileOf(2, 40, 10), 2, {0, 3});
  picks.pick(0, {5});
  EXPECT_EQ(picks.rest(0), std::vector<int>({5}));
  picks.pick(2, {31, 39});
  EXPECT_EQ(picks.rest(2), std::vector<int>({2031, 2039}));
  EXPECT_EQ(picks.scan->numFilesDone(), 2);
}

TEST(PickedRows, groupsOfAFileMayComeInPartsWithOthersBetween) {
  Picks picks(2);
  std::string first = fileOf(0, 40, 10), second = fileOf(1, 40, 10);
  picks.add(first, 0, {0});
  picks.pick(0, {8, 9});
  EXPECT_EQ(picks.rest(0), std::vector<int>({8, 9}));
  picks.add(second, 1, {3});
  picks.pick(1, {30});
  EXPECT_EQ(picks.rest(1), std::vector<int>({1030}));
  picks.add(first, 0, {2, 3});
  picks.pick(0, {20, 39});
  EXPECT_EQ(picks.rest(0), std::vector<int>({20, 39}));
}

TEST(PickedRows, anyChoiceOfRowsComesWhole) {
  std::mt19937 random(11);
  auto below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int round = 0; round < 30; ++round) {
    Picks picks(1 + below(3));
    int rowsPerGroup = 1 + below(40);
    std::string bytes = fileOf(3, 200, rowsPerGroup);
    std::bernoulli_distribution isPicked(std::vector<double>{0.02, 0.5, 0.98}[static_cast<size_t>(below(3))]);
    std::vector<int64_t> chosen;
    for (int64_t row = 0; row < 200; ++row) {
      if (isPicked(random)) chosen.push_back(row);
    }
    std::set<int> added;
    for (size_t i = 0; i < chosen.size();) {
      std::vector<int64_t> some;
      std::vector<int> groups;
      for (size_t end = std::min(chosen.size(), i + 1 + static_cast<size_t>(below(60))); i < end; ++i) {
        some.push_back(chosen[i]);
        int group = static_cast<int>(chosen[i]) / rowsPerGroup;
        if (added.insert(group).second) groups.push_back(group);
      }
      if (!groups.empty()) picks.add(bytes, 3, groups);
      picks.pick(3, some);
      EXPECT_EQ(picks.rest(3), numbersOf(3, some)) << "round " << round;
    }
  }
}

TEST(PickedRows, comeLaterWhereTheyWereNotReadInTime) {
  Picks picks;
  auto source = std::make_shared<MemorySource>("slow", fileOf(0, 10, 10));
  std::atomic<bool> goes{false};
  source->onRead = [&](int64_t) {
    while (!goes) std::this_thread::sleep_for(milliseconds(1));
  };
  picks.scan->add(source, 0, {0}, nullptr);
  picks.pick(0, {3, 4});
  EXPECT_EQ(picks.rows->next(milliseconds(10)), nullptr);
  EXPECT_EQ(picks.rows->numRows(), 0);
  goes = true;
  EXPECT_EQ(picks.rest(0), std::vector<int>({3, 4}));
}

TEST(PickedRows, aBadFileIsTheScansToTell) {
  Picks picks;
  picks.add("no Parquet at all", 0, {0});
  picks.pick(0, {0});
  EXPECT_THROW(picks.rows->next(seconds(20)), UserError);
}

TEST(PickedRows, rowsThatCannotComeAreAnError) {
  auto errorOf = [](const std::vector<int64_t>& first, const std::vector<int64_t>& second, int file) {
    Picks picks;
    picks.add(fileOf(0, 20, 10), 0, {0, 1});
    picks.pick(0, first);
    picks.rest(0);
    try {
      picks.pick(file, second);
      picks.rows->next(milliseconds(100));
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(errorOf({12}, {13}, 0), "none");
  EXPECT_NE(errorOf({12}, {3}, 0).find("A picked row is not in what the scan reads: row 3 of file 0"),
            std::string::npos);
  EXPECT_NE(errorOf({12}, {13}, 1).find("row 13 of file 1"), std::string::npos);
  EXPECT_NE(errorOf({12}, {14, 13}, 0).find("Picked rows do not ascend: 14, then 13"), std::string::npos);
  EXPECT_NE(errorOf({12}, {14, 15, 15}, 0).find("Picked rows do not ascend: 15, then 15"), std::string::npos);
}

}  // namespace
}  // namespace bloomery::data
