// The rows of runs are what Arrow's own slices of them hold, for every layout that a scan gives.
#include "data/arrow/RowRuns.h"

#include <arrow/array/concatenate.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/Error.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/Batches.h"

namespace bloomery::data {
namespace {

constexpr int kRows = 60;

// kRows values, each made from its number; every fifth is null where some are.
std::shared_ptr<arrow::Array> valuesOf(const std::shared_ptr<arrow::DataType>& type, bool someAreNull,
                                       const std::function<std::string(int)>& value) {
  std::string json = "[";
  for (int i = 0; i < kRows; ++i) {
    json += (i == 0 ? "" : ", ") + (someAreNull && i % 5 == 2 ? std::string("null") : value(i));
  }
  return batchOf({{"x", type, json + "]"}})->column(0);
}

struct Layout {
  std::shared_ptr<arrow::DataType> type;
  std::function<std::string(int)> value;
};

std::vector<Layout> layouts() {
  auto number = [](int i) { return std::to_string(i % 100); };
  auto text = [](int i) {
    return '"' + std::string(static_cast<size_t>(i % 7), static_cast<char>('a' + i % 26)) + '"';
  };
  auto list = [](const std::function<std::string(int)>& of, int most) {
    return [=](int i) {
      std::string json = "[";
      for (int k = 0; k < i % (most + 1); ++k) json += (k == 0 ? "" : ", ") + of(i + k);
      return json + "]";
    };
  };
  auto floats = arrow::list(arrow::float32());
  return {{arrow::int8(), number},
          {arrow::int64(), number},
          {arrow::float64(), number},
          {arrow::date32(), number},
          {arrow::boolean(), [](int i) { return std::string(i % 3 == 0 ? "true" : "false"); }},
          {arrow::binary(), text},
          {arrow::utf8(), text},
          {arrow::dictionary(arrow::int32(), arrow::utf8()), text},
          {floats, list(number, 4)},
          {arrow::list(floats), list(list(number, 3), 2)},
          {arrow::list(arrow::utf8()), list(text, 3)},
          {arrow::struct_({arrow::field("n", arrow::int32()), arrow::field("v", floats)}),
           [=](int i) { return R"({"n": )" + number(i) + R"(, "v": )" + list(number, 4)(i) + "}"; }}};
}

TEST(RowRuns, numbersThatFollowEachOtherAreOneRun) {
  std::vector<int64_t> numbers = {103, 104, 105, 107, 110, 111};
  std::vector<RowRun> runs = runsOf(numbers, 100);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].first, 3);
  EXPECT_EQ(runs[0].count, 3);
  EXPECT_EQ(runs[1].first, 7);
  EXPECT_EQ(runs[1].count, 1);
  EXPECT_EQ(runs[2].first, 10);
  EXPECT_EQ(runs[2].count, 2);
  EXPECT_TRUE(runsOf({}, 5).empty());
}

TEST(RowRuns, rowsAreThoseOfArrowsOwnSlices) {
  std::mt19937 random(7);
  for (const Layout& layout : layouts()) {
    for (bool someAreNull : {false, true}) {
      auto whole = valuesOf(layout.type, someAreNull, layout.value);
      for (int64_t offset : {0, 1, 9}) {
        auto array = whole->Slice(offset);
        for (double share : {0.05, 0.5, 0.95}) {
          std::vector<int64_t> numbers;
          for (int64_t i = 0; i < array->length(); ++i) {
            if (std::bernoulli_distribution(share)(random)) numbers.push_back(i);
          }
          std::vector<RowRun> runs = runsOf(numbers, 0);
          arrow::ArrayVector slices;
          for (const RowRun& run : runs) slices.push_back(array->Slice(run.first, run.count));
          if (slices.empty()) slices.push_back(array->Slice(0, 0));
          auto expected = arrow::Concatenate(slices, arrow::system_memory_pool()).ValueOrDie();
          auto found = rowsIn(*array, runs, arrow::system_memory_pool()).ValueOrDie();
          EXPECT_TRUE(found->ValidateFull().ok()) << found->ValidateFull().ToString();
          EXPECT_TRUE(found->Equals(expected)) << layout.type->ToString() << ", offset " << offset << ": "
                                               << found->ToString() << "\nexpected " << expected->ToString();
          EXPECT_EQ(found->null_count(), expected->null_count());
        }
      }
    }
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

TEST(RowRuns, oneRunSharesItsMemory) {
  auto array = valuesOf(arrow::int32(), false, [](int i) { return std::to_string(i); });
  auto found = rowsIn(*array, {{10, 20}}, arrow::system_memory_pool()).ValueOrDie();
  EXPECT_EQ(found->data()->buffers[1], array->data()->buffers[1]);
  EXPECT_TRUE(found->Equals(array->Slice(10, 20)));
}

}  // namespace
}  // namespace bloomery::data
