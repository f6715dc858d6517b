#include "data/arrow/RowHash.h"

#include <gtest/gtest.h>

#include <set>

#include "data/arrow/IngestTest.h"

namespace bloomery::data {
namespace {

std::vector<uint64_t> hashesOf(const std::vector<Column>& columns) {
  auto batch = batchOf(columns);
  std::vector<const arrow::Array*> arrays;
  for (const auto& array : batch->columns()) arrays.push_back(array.get());
  RowHash hash(arrays);
  std::vector<uint64_t> hashes;
  for (int64_t row = 0; row < batch->num_rows(); ++row) hashes.push_back(hash.of(row));
  return hashes;
}

// Rows that all differ, and behind them one like the first: a hash for each, whatever stands before and behind a row.
TEST(RowHash, tellsRowsApartByTheirValuesInEveryType) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::vector<std::string> values;
  };
  for (const Case& test : std::vector<Case>{
           {arrow::int8(), {"1", "2", "null", "3"}},
           {arrow::int64(), {"1", "2", "null", "-1"}},
           {arrow::float32(), {"1", "2", "null", "1.5"}},
           {arrow::float64(), {"0.1", "0.2", "null", "0.3"}},
           {arrow::boolean(), {"true", "false", "null"}},
           {arrow::decimal128(9, 2), {R"("1.00")", R"("1.01")", "null", R"("7.00")"}},
           {arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), {"1", "2", "null", "3"}},
           {arrow::utf8(), {R"("a")", R"("")", "null", R"("a long one that takes several words")"}},
           {arrow::large_utf8(), {R"("a")", R"("b")", "null", R"("")"}},
           {arrow::binary(), {R"("\u0001\u0002")", R"("\u0001")", "null", R"("\u0001\u0002\u0000")"}},
           {arrow::fixed_size_binary(2), {R"("ab")", R"("cd")", "null", R"("ba")"}},
           {arrow::list(arrow::float32()), {"[1, 2, 3]", "[]", "null", "[1, 2, 3, 0]", "[1, null, 3]", "[null]"}},
           {arrow::list(arrow::utf8()), {R"(["a", "b"])", R"(["ab"])", "null", R"(["a", "b", ""])"}},
           {arrow::list(arrow::list(arrow::int32())), {"[[1], [2]]", "[[1, 2]]", "null", "[[1], [2], []]"}},
           {arrow::large_list(arrow::int16()), {"[1, 2]", "[2, 1]", "null", "[1]"}},
           {arrow::fixed_size_list(arrow::float64(), 2), {"[1, 2]", "[2, 1]", "null", "[1, null]"}},
           {vectorType(), {"[1, null, null, [1, 2]]", "[0, 2, [0, 1], [1, 2]]", "null", "[0, 3, [0, 1], [1, 2]]"}},
           {arrow::dictionary(arrow::int32(), arrow::utf8()), {R"("a")", R"("b")", "null", R"("c")"}}}) {
    SCOPED_TRACE(test.type->ToString());
    std::vector<std::string> rows = test.values;
    rows.push_back(rows.front());
    auto json = [](const std::vector<std::string>& values) {
      std::string text;
      for (const std::string& value : values) text += (text.empty() ? "[" : ", ") + value;
      return text + "]";
    };
    std::vector<uint64_t> hashes = hashesOf({{"x", test.type, json(rows)}});
    EXPECT_EQ(hashes.front(), hashes.back());
    EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), test.values.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      EXPECT_EQ(hashesOf({{"x", test.type, json({rows[row]})}}).front(), hashes[row]) << rows[row];
    }
    auto sliced = batchOf({{"x", test.type, json(rows)}})->Slice(1);
    RowHash hash({sliced->column(0).get()});
    for (int64_t row = 0; row < sliced->num_rows(); ++row) {
      EXPECT_EQ(hash.of(row), hashes[static_cast<size_t>(row + 1)]);
    }
  }
}

TEST(RowHash, takesTextsInADictionaryAsTexts) {
  EXPECT_EQ(hashesOf({{"x", arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["b", "a", null])"}}),
            hashesOf({{"x", arrow::utf8(), R"(["b", "a", null])"}}));
}

TEST(RowHash, knowsWhichColumnAValueIsIn) {
  auto hashes = hashesOf({{"x", arrow::int32(), "[1, 2, 1]"}, {"y", arrow::int32(), "[2, 1, 2]"}});
  EXPECT_NE(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace bloomery::data
