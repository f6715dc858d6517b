#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "data/arrow/ArrowIngest.h"
#include "data/arrow/IngestTest.h"

namespace bloomery::data {
namespace {

class WholeRowsTest : public IngestTest {};

// Arrays and binaries of equal length come many at once; what is wrong is told as if they came one by one.
TEST_F(WholeRowsTest, arraysOfManyRowsComeAsTheyWouldOneByOne) {
  constexpr int64_t kRows = 30'000, kSlice = 7;
  for (bool twoColumns : {false, true}) {
    arrow::ListBuilder arrays(arrow::system_memory_pool(), std::make_shared<arrow::DoubleBuilder>());
    arrow::BinaryBuilder bytes{arrow::system_memory_pool()};
    arrow::Int32Builder label{arrow::system_memory_pool()};
    auto& numbers = static_cast<arrow::DoubleBuilder&>(*arrays.value_builder());
    auto start = [](int64_t row) { return static_cast<double>(row); };
    for (int64_t i = 0; i < kRows; ++i) {
      ASSERT_TRUE(arrays.Append().ok() && numbers.Append(start(i)).ok() && numbers.Append(-start(i)).ok());
      float values[2] = {static_cast<float>(i) / 2, 1};
      ASSERT_TRUE(bytes.Append(reinterpret_cast<const uint8_t*>(values), sizeof(values)).ok() && label.Append(1).ok());
    }
    auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("a", arrow::list(arrow::float64())), arrow::field("b", arrow::binary()),
                       arrow::field("y", arrow::int32())}),
        kRows, {arrays.Finish().ValueOrDie(), bytes.Finish().ValueOrDie(), label.Finish().ValueOrDie()});
    RowFormat format = oneClass(DType::kFloat32, twoColumns ? 4 : 2);
    RowStore store(format);
    InputColumn a("a"), b("b");
    a.size = b.size = 2;
    InputColumns both(twoColumns ? std::vector<InputColumn>{a, b} : std::vector<InputColumn>{a});
    ArrowIngest ingest({{both}, {"y"}}, rulesOf(format), &store, nullptr);
    handOver(ingest, *batch->Slice(kSlice), 2, kSlice);
    ASSERT_EQ(store.numRows(), kRows - kSlice);
    for (int64_t row = 0; row < store.numRows(); ++row) {
      const auto* values = reinterpret_cast<const float*>(store.features(row));
      auto number = static_cast<float>(row + kSlice);
      ASSERT_EQ(values[0], number);
      ASSERT_EQ(values[1], -number);
      if (!twoColumns) continue;
      ASSERT_EQ(values[2], number / 2);
      ASSERT_EQ(values[3], 1);
    }
  }
}

TEST_F(WholeRowsTest, theFirstWrongArrayAmongManyIsNamed) {
  auto errorOf = [](std::vector<std::pair<int64_t, std::vector<double>>> wrong) -> std::string {
    arrow::ListBuilder arrays(arrow::system_memory_pool(), std::make_shared<arrow::DoubleBuilder>());
    arrow::Int32Builder label{arrow::system_memory_pool()};
    auto& numbers = static_cast<arrow::DoubleBuilder&>(*arrays.value_builder());
    for (int64_t i = 0; i < 10'000; ++i) {
      std::vector<double> row = {1, 2};
      for (const auto& [at, values] : wrong) {
        if (at == i) row = values;
      }
      EXPECT_TRUE(arrays.Append().ok() && numbers.AppendValues(row).ok() && label.Append(1).ok());
    }
    RowFormat format = oneClass(DType::kFloat32, 2);
    RowStore store(format);
    ArrowIngest ingest({{"a"}, {"y"}}, rulesOf(format), &store, nullptr);
    auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("a", arrow::list(arrow::float64())), arrow::field("y", arrow::int32())}), 10'000,
        {arrays.Finish().ValueOrDie(), label.Finish().ValueOrDie()});
    try {
      handOver(ingest, *batch);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf({}), "");
  const std::string rest = ", column 'a', row 4714 of partition 3";  // the first row is 4710
  std::string nan = errorOf({{4, {1, NAN}}, {5, {1e300, 1}}, {6, {1}}});
  EXPECT_TRUE(nan.starts_with("Feature is not finite: nan, element 1" + rest)) << nan;
  std::string large = errorOf({{4, {1, 1e300}}, {5, {NAN, 1}}});
  EXPECT_TRUE(large.starts_with("Feature does not fit float32: 1e+300, element 1" + rest)) << large;
  std::string length = errorOf({{4, {1, 2, 3}}, {5, {1}}, {9, {NAN, 1}}});
  EXPECT_TRUE(length.starts_with("Wrong length of array: 3 values, wanted 2 for shape (2,)" + rest)) << length;
}

}  // namespace
}  // namespace bloomery::data
