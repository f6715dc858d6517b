#include "data/arrow/ArrowIngest.h"

#include <cmath>
#include <set>

#include "data/Permutation.h"
#include "data/arrow/IngestTest.h"

namespace bloomery::data {
namespace {

const std::string beyond = "; classes count from 0, so index the labels or give the last layer more units";
const std::string broken = "; a class is one, so index the labels";

const RowFormat kTwoBytes = oneClass(DType::kUint8, 2, Shape{1, 2, 1});

class ArrowIngestTest : public IngestTest {};

TEST_F(ArrowIngestTest, takesEveryTypeOfFeatures) {
  auto numbers = [](auto type) { return arrow::list(type); };
  struct {
    std::shared_ptr<arrow::DataType> type;
    std::string json;
    DType wanted;
    int64_t features;
  } cases[] = {
      {arrow::binary(), R"(["\u0001\u0002", "\u0003\u0004"])", DType::kUint8, 2},
      {arrow::large_binary(), R"(["\u0001\u0002", "\u0003\u0004"])", DType::kUint8, 2},
      {arrow::fixed_size_binary(2), R"(["\u0001\u0002", "\u0003\u0004"])", DType::kUint8, 2},
      {arrow::binary(), R"(["\u0001\u0000\u0002\u0000", "\u0003\u0000\u0004\u0000"])", DType::kInt16, 2},
      {numbers(arrow::float32()), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {numbers(arrow::float64()), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {numbers(arrow::float64()), "[[1, 2], [3, 4]]", DType::kUint8, 2},
      {numbers(arrow::float32()), "[[1, 2], [3, 4]]", DType::kInt64, 2},
      {numbers(arrow::int8()), "[[1, 2], [3, 4]]", DType::kFloat64, 2},
      {numbers(arrow::uint8()), "[[1, 2], [3, 4]]", DType::kInt8, 2},
      {numbers(arrow::int16()), "[[1, 2], [3, 4]]", DType::kUint8, 2},
      {numbers(arrow::uint16()), "[[1, 2], [3, 4]]", DType::kInt16, 2},
      {numbers(arrow::int32()), "[[1, 2], [3, 4]]", DType::kInt32, 2},
      {numbers(arrow::uint32()), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {numbers(arrow::int64()), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {numbers(arrow::uint64()), "[[1, 2], [3, 4]]", DType::kInt64, 2},
      {arrow::large_list(arrow::float64()), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {arrow::fixed_size_list(arrow::float64(), 2), "[[1, 2], [3, 4]]", DType::kFloat32, 2},
      {arrow::float64(), "[1, 3]", DType::kFloat32, 1},
      {arrow::int64(), "[1, 3]", DType::kUint8, 1},
      {arrow::boolean(), "[true, false]", DType::kUint8, 1},
      {arrow::decimal128(9, 2), R"(["1.00", "3.00"])", DType::kFloat32, 1},
      {arrow::decimal256(50, 1), R"(["1.0", "3.0"])", DType::kInt32, 1},
      {arrow::float16(), "[1, 3]", DType::kFloat32, 1},
      {arrow::date32(), "[1, 3]", DType::kInt32, 1},
      {arrow::date64(), "[86400000, 259200000]", DType::kInt32, 1},
      {arrow::timestamp(arrow::TimeUnit::SECOND), "[1, 3]", DType::kFloat64, 1},
      {arrow::timestamp(arrow::TimeUnit::MILLI, "UTC"), "[1000, 3000]", DType::kFloat64, 1},
      {arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[1000000, 3000000]", DType::kFloat32, 1},
      {arrow::timestamp(arrow::TimeUnit::NANO), "[1000000000, 3000000000]", DType::kFloat64, 1},
      {numbers(arrow::decimal128(9, 2)), R"([["1.00", "2.00"], ["3.00", "4.00"]])", DType::kFloat32, 2},
      {numbers(numbers(arrow::int32())), "[[[1], [2]], [[3], [4]]]", DType::kFloat32, 2},
      {numbers(arrow::fixed_size_list(arrow::float64(), 2)), "[[[1, 2]], [[3, 4]]]", DType::kFloat32, 2},
      {arrow::fixed_size_list(numbers(arrow::float64()), 1), "[[[1, 2]], [[3, 4]]]", DType::kFloat32, 2},
      {arrow::large_list(numbers(numbers(arrow::float64()))), "[[[[1], [2]]], [[[3], [4]]]]", DType::kFloat32, 2},
      {vectorType(), R"([[1, null, null, [1, 2]], [0, 2, [0, 1], [3, 4]]])", DType::kFloat32, 2},
      {vectorType(), R"([[1, null, null, [1, 2]], [0, 2, [0, 1], [3, 4]]])", DType::kUint8, 2},
      {imageType(), R"([["", 1, 2, 1, 0, "\u0001\u0002"], ["", 1, 2, 1, 0, "\u0003\u0004"]])", DType::kUint8, 2},
      {imageType(), R"([["", 1, 2, 1, 0, "\u0001\u0002"], ["", 1, 2, 1, 0, "\u0003\u0004"]])", DType::kFloat32, 2},
      {arrow::dictionary(arrow::int8(), arrow::int64()), "[1, 3]", DType::kFloat32, 1},
      {arrow::dictionary(arrow::int32(), arrow::binary()), R"(["\u0001\u0002", "\u0003\u0004"])", DType::kUint8, 2},
  };
  for (const auto& one : cases) {
    RowFormat format = noTarget(one.wanted, one.features);
    RowStore rows(format);
    ArrowIngest ingest({{"x"}, {}}, {}, &rows, nullptr);
    auto batch = batchOf({{"x", one.type, one.json}});
    handOver(ingest, *batch);
    handOver(ingest, *batch->Slice(1), 3, 4711);  // a slice has offsets of its own
    handOver(ingest, *batch->Slice(2), 3, 4712);  // without rows
    std::string what = one.type->ToString() + " into " + nameOf(one.wanted);
    ASSERT_EQ(rows.numRows(), 3) << what;
    std::vector<double> first = {1, 2}, second = {3, 4};
    if (one.type->id() == arrow::Type::BOOL) second = {0};
    first.resize(static_cast<size_t>(one.features));
    second.resize(static_cast<size_t>(one.features));
    EXPECT_EQ(featuresOf(rows, 0), first) << what;
    EXPECT_EQ(featuresOf(rows, 1), second) << what;
    EXPECT_EQ(featuresOf(rows, 2), second) << what;
  }
}

TEST_F(ArrowIngestTest, keepsTheExtremesOfEveryType) {
  struct {
    std::shared_ptr<arrow::DataType> type;
    std::string json;
    DType wanted;
    std::vector<double> values;
  } cases[] = {
      {arrow::float64(), "[[0, 255]]", DType::kUint8, {0, 255}},
      {arrow::int64(), "[[0, 255]]", DType::kUint8, {0, 255}},
      {arrow::float32(), "[[-128, 127]]", DType::kInt8, {-128, 127}},
      {arrow::float64(), "[[-2147483648, 2147483647]]", DType::kInt32, {-2147483648.0, 2147483647.0}},
      {arrow::float64(), "[[-9223372036854775808, 0]]", DType::kInt64, {-0x1p63, 0}},
      {arrow::float64(), "[[1e300, -1e300]]", DType::kFloat64, {1e300, -1e300}},
      {arrow::float64(), "[[0.1, 1e-300]]", DType::kFloat32, {static_cast<double>(0.1f), 0}},
      {arrow::float64(), "[[Inf, -Inf]]", DType::kFloat32, {INFINITY, -INFINITY}},
  };
  for (const auto& one : cases) {
    RowFormat format = noTarget(one.wanted, 2);
    RowStore rows(format);
    InputColumn any("x");
    any.nans = NanRule::kPass;
    ArrowIngest ingest({{std::vector{any}}, {}}, {}, &rows, nullptr);
    handOver(ingest, *batchOf({{"x", arrow::list(one.type), one.json}}));
    EXPECT_EQ(featuresOf(rows, 0), one.values) << one.json;
  }
}

TEST_F(ArrowIngestTest, takesLabelsOfEveryNumberType) {
  RowStore flags(kTwoBytes);
  ArrowIngest takesFlags({{"x"}, {"y"}, "", ""}, rulesOf(kTwoBytes), &flags, nullptr);
  handOver(takesFlags, *batchOf({{"y", arrow::boolean(), "[true]"}, {"x", arrow::binary(), R"(["aa"])"}}));
  EXPECT_EQ(flags.label(0), 1);
  for (const auto& type : {arrow::int8(), arrow::uint8(), arrow::int16(), arrow::uint16(), arrow::int32(),
                           arrow::uint32(), arrow::int64(), arrow::uint64(), arrow::float32(), arrow::float64()}) {
    RowStore rows(kTwoBytes);
    ArrowIngest ingest({{"x"}, {"y"}, "", ""}, rulesOf(kTwoBytes), &rows, nullptr);
    handOver(ingest, *batchOf({{"y", type, "[0, 9, 4]"}, {"x", arrow::binary(), R"(["aa", "bb", "cc"])"}}), 2, 100);
    ASSERT_EQ(rows.numRows(), 3);
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(rows.label(row), (std::vector<int32_t>{0, 9, 4})[static_cast<size_t>(row)]) << type->ToString();
      EXPECT_EQ(rows.weight(row), 1.0f);
      EXPECT_EQ(rows.rowId(row), (uint64_t{2} << 40) | static_cast<uint64_t>(100 + row));
    }
  }
}

TEST_F(ArrowIngestTest, sendsRowsToTrainingAndValidationWithTheirWeights) {
  RowStore training(kTwoBytes), validation(kTwoBytes);
  ArrowIngest ingest({{"x"}, {"y"}, "w", "v"}, rulesOf(kTwoBytes), &training, &validation);
  handOver(ingest, *batchOf({{"x", arrow::binary(), R"(["aa", "bb", "cc"])"},
                             {"y", arrow::int32(), "[1, 2, 3]"},
                             {"w", arrow::float64(), "[0, 0.5, 7]"},
                             {"v", arrow::boolean(), "[false, true, false]"},
                             {"unused", arrow::utf8(), R"([null, "", "z"])"}}));
  ASSERT_EQ(training.numRows(), 2);
  ASSERT_EQ(validation.numRows(), 1);
  EXPECT_EQ(training.label(1), 3);
  EXPECT_EQ(training.weight(0), 0.0f);
  EXPECT_EQ(training.weight(1), 7.0f);
  EXPECT_EQ(validation.label(0), 2);
  EXPECT_EQ(validation.weight(0), 0.5f);
  EXPECT_EQ(validation.rowId(0), makeRowId(3, 4711));
  EXPECT_EQ(featuresOf(validation, 0), (std::vector<double>{'b', 'b'}));
}

TEST_F(ArrowIngestTest, aShareOfTheRowsIsForValidationHoweverTheyCome) {
  auto split = [](int64_t rowsOfBatch, uint64_t seed) {
    RowStore training(noTarget(DType::kInt64, 1)), validation(noTarget(DType::kInt64, 1));
    IngestColumns columns{{"x"}, {}};
    columns.validationFraction = 0.2;
    columns.seed = seed;
    ArrowIngest ingest(columns, {}, &training, &validation);
    for (int64_t first = 0; first < 2000; first += rowsOfBatch) {
      std::string json;
      for (int64_t i = first; i < first + rowsOfBatch; ++i) json += message(json.empty() ? "[" : ",", i);
      handOver(ingest, *batchOf({{"x", arrow::int64(), json + "]"}}), 1, first);
    }
    EXPECT_EQ(training.numRows() + validation.numRows(), 2000);
    std::vector<uint64_t> ids;
    for (int64_t row = 0; row < validation.numRows(); ++row) ids.push_back(validation.rowId(row));
    return ids;
  };
  auto ids = split(2000, 7);
  EXPECT_EQ(split(50, 7), ids);
  EXPECT_NE(split(2000, 8), ids);
  EXPECT_NEAR(static_cast<double>(ids.size()), 400, 60);
}

// As behind a shuffle: the same rows, whose places tell nothing.
TEST_F(ArrowIngestTest, rowsForValidationAreTheSameOnesInAnyOrderWhereTheyAreChosenByContent) {
  auto split = [](uint64_t order, int64_t rowsOfBatch, bool byContent) {
    RowFormat format{{{DType::kFloat32, 2}}, {{1, true}}};
    RowStore training(format), validation(format);
    IngestColumns columns{{"x"}, {"y"}};
    columns.validationFraction = 0.2;
    columns.validationByContent = byContent;
    columns.seed = 7;
    ArrowIngest ingest(columns, {{.shape = {3}}}, &training, &validation);
    Permutation arrival(2000, order);
    for (int64_t first = 0; first < 2000; first += rowsOfBatch) {
      std::string x, y;
      for (int64_t i = first; i < first + rowsOfBatch; ++i) {
        auto id = order == 0 ? i : static_cast<int64_t>(arrival.at(static_cast<uint64_t>(i)));
        x += message(x.empty() ? "[" : ", ", "[", id, ", ", id % 10, "]");
        y += message(y.empty() ? "[" : ", ", id % 3);
      }
      handOver(ingest, *batchOf({{"y", arrow::int32(), y + "]"}, {"x", arrow::list(arrow::float32()), x + "]"}}),
               static_cast<int>(order), first);
    }
    EXPECT_EQ(training.numRows() + validation.numRows(), 2000);
    std::set<double> rows;
    for (int64_t row = 0; row < validation.numRows(); ++row) rows.insert(featuresOf(validation, row)[0]);
    EXPECT_EQ(static_cast<int64_t>(rows.size()), validation.numRows());
    return rows;
  };
  auto rows = split(0, 2000, true);
  EXPECT_NEAR(static_cast<double>(rows.size()), 400, 60);
  EXPECT_EQ(split(1, 2000, true), rows);
  EXPECT_EQ(split(2, 40, true), rows);
  EXPECT_NE(split(1, 2000, false), split(0, 2000, false));
}

TEST_F(ArrowIngestTest, severalColumnsAreTheValuesOfOneTarget) {
  RowFormat format{{{DType::kInt64, 1}}, {{3, true}}};
  IngestColumns names{{"x"}, {std::vector<std::string>{"a", "b", "c"}}};
  std::vector<TargetRule> rules = {{.shape = {3}, .takesClass = true, .takesValues = true}};
  auto columns = [](const std::string& c, std::shared_ptr<arrow::DataType> type = arrow::int32()) {
    return std::vector<Column>{{"x", arrow::int64(), "[1, 2]"},
                               {"a", arrow::float64(), "[0.5, -1.5]"},
                               {"b", arrow::float32(), "[2, 3]"},
                               {"c", type, c}};
  };
  RowStore rows(format);
  ArrowIngest ingest(names, rules, &rows, nullptr);
  handOver(ingest, *batchOf(columns("[7, 8]")));
  EXPECT_EQ(std::vector<float>(rows.values(1), rows.values(1) + 3), (std::vector<float>{-1.5f, 3, 8}));

  auto refused = [&](const std::vector<Column>& wrong, TargetRule rule) {
    RowStore other(format);
    ArrowIngest refusing(names, {rule}, &other, nullptr);
    try {
      handOver(refusing, *batchOf(wrong));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(columns("[7, null]"), rules[0]).find("Label is null: column 'c', row 4711 of partition 3"), 0u);
  EXPECT_EQ(refused(columns(R"(["u", "v"])", arrow::utf8()), rules[0]),
            "Wrong type of label column 'c': string, wanted a number");
  EXPECT_EQ(refused(columns("[7, 8]"), {.shape = {2}, .takesValues = true}),
            "Label columns do not fill the output: 3 columns from 'a' to 'c', values of the output: 2");
  EXPECT_EQ(
      refused(columns("[7, 8]"), {.shape = {3}}),
      "Label columns do not fill the output: 3 columns from 'a' to 'c', values of the output: 3, and its loss takes "
      "class indices only");
}

TEST_F(ArrowIngestTest, manyBatchesGoIntoOneStore) {
  RowStore rows(kTwoBytes);
  ArrowIngest ingest({{"x"}, {"y"}, "", ""}, rulesOf(kTwoBytes), &rows, nullptr);
  auto batch = batchOf({{"x", arrow::binary(), R"(["aa", "bb"])"}, {"y", arrow::int32(), "[1, 2]"}});
  ArrowSchema schema;
  ASSERT_TRUE(arrow::ExportSchema(*batch->schema(), &schema).ok());
  ingest.schema(&schema);
  for (int i = 0; i < 50; ++i) {
    ArrowArray array;
    ASSERT_TRUE(arrow::ExportRecordBatch(*batch, &array).ok());
    ingest.ingest(&array, 0, 2 * i);
    EXPECT_EQ(array.release, nullptr);
  }
  EXPECT_EQ(rows.numRows(), 100);
  EXPECT_EQ(rows.rowId(99), 99u);
}

TEST_F(ArrowIngestTest, badValuesNameColumnRowAndPartition) {
  const std::string place = ", row 4711 of partition 3";
  const std::string goodImages = R"(["aa", "bb"])", goodLabels = "[1, 2]";
  auto binary = arrow::binary();
  struct {
    const char* what;
    std::vector<Column> columns;
    std::string text;
  } cases[] = {
      {"label too large",
       {{"x", binary, goodImages}, {"y", arrow::int32(), "[1, 12]"}},
       "Label out of range: 12, classes: 10, column 'y'" + place + beyond},
      {"label equal to classes",
       {{"x", binary, goodImages}, {"y", arrow::float64(), "[1, 10]"}},
       "Label out of range: 10, classes: 10, column 'y'" + place + beyond},
      {"label negative",
       {{"x", binary, goodImages}, {"y", arrow::int64(), "[1, -1]"}},
       "Label out of range: -1, classes: 10, column 'y'" + place + beyond},
      {"label infinite",
       {{"x", binary, goodImages}, {"y", arrow::float64(), "[1, Inf]"}},
       "Label out of range: inf, classes: 10, column 'y'" + place + beyond},
      {"label huge",
       {{"x", binary, goodImages}, {"y", arrow::uint64(), "[1, 18446744073709551615]"}},
       "Label out of range: 1.84467e+19, classes: 10, column 'y'" + place + beyond},
      {"label not whole",
       {{"x", binary, goodImages}, {"y", arrow::float32(), "[1, 2.5]"}},
       "Label is not a whole number: 2.5, column 'y'" + place + broken},
      {"label not a number",
       {{"x", binary, goodImages}, {"y", arrow::float64(), "[1, NaN]"}},
       "Label is not a whole number: nan, column 'y'" + place + broken},
      {"label null",
       {{"x", binary, goodImages}, {"y", arrow::int32(), "[1, null]"}},
       "Label is null: column 'y'" + place + "; drop such rows"},
      {"weight negative",
       {{"x", binary, goodImages}, {"y", arrow::int32(), goodLabels}, {"w", arrow::float64(), "[1, -0.5]"}},
       "Weight is not a finite number of at least 0: -0.5, column 'w'" + place},
      {"weight too large for a float",
       {{"x", binary, goodImages}, {"y", arrow::int32(), goodLabels}, {"w", arrow::float64(), "[1, 1e300]"}},
       "Weight is not a finite number of at least 0: 1e+300, column 'w'" + place},
      {"weight not a number",
       {{"x", binary, goodImages}, {"y", arrow::int32(), goodLabels}, {"w", arrow::float32(), "[1, NaN]"}},
       "Weight is not a finite number of at least 0: nan, column 'w'" + place},
      {"weight null",
       {{"x", binary, goodImages}, {"y", arrow::int32(), goodLabels}, {"w", arrow::int32(), "[1, null]"}},
       "Weight is null: column 'w'" + place},
      {"validation indicator null",
       {{"x", binary, goodImages}, {"y", arrow::int32(), goodLabels}, {"v", arrow::boolean(), "[true, null]"}},
       "Validation indicator is null: column 'v'" + place},
      {"features null",
       {{"x", binary, R"(["aa", null])"}, {"y", arrow::int32(), goodLabels}},
       "Features are null: column 'x'" + place + kNullAdvice},
      {"features list null",
       {{"x", arrow::list(arrow::float32()), "[[1, 2], null]"}, {"y", arrow::int32(), goodLabels}},
       "Features are null: column 'x'" + place + kNullAdvice},
      {"binary too short",
       {{"x", binary, R"(["aa", "b"])"}, {"y", arrow::int32(), goodLabels}},
       "Wrong length of binary value: 1 bytes, wanted 2 for shape (1, 2, 1) of uint8, column 'x'" + place},
      {"binary too long",
       {{"x", arrow::large_binary(), R"(["aa", "bbb"])"}, {"y", arrow::int32(), goodLabels}},
       "Wrong length of binary value: 3 bytes, wanted 2 for shape (1, 2, 1) of uint8, column 'x'" + place},
      {"array too short",
       {{"x", arrow::list(arrow::uint8()), "[[1, 2], [3]]"}, {"y", arrow::int32(), goodLabels}},
       "Wrong length of array: 1 values, wanted 2 for shape (1, 2, 1), column 'x'" + place + kLengthAdvice},
      {"array empty",
       {{"x", arrow::large_list(arrow::float64()), "[[1, 2], []]"}, {"y", arrow::int32(), goodLabels}},
       "Wrong length of array: 0 values, wanted 2 for shape (1, 2, 1), column 'x'" + place + kLengthAdvice},
      {"element null",
       {{"x", arrow::list(arrow::float64()), "[[1, 2], [3, null]]"}, {"y", arrow::int32(), goodLabels}},
       "Feature is null: element 1, column 'x'" + place + kNullAdvice},
      {"fraction into uint8",
       {{"x", arrow::list(arrow::float64()), "[[1, 2], [0.5, 1]]"}, {"y", arrow::int32(), goodLabels}},
       "Feature does not fit uint8: 0.5, element 0, column 'x'" + place +
           "; give the Input another dtype or cast the column"},
      {"too large for uint8",
       {{"x", arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], [3, 256]]"}, {"y", arrow::int32(), goodLabels}},
       "Feature does not fit uint8: 256, element 1, column 'x'" + place +
           "; give the Input another dtype or cast the column"},
      {"negative into uint8",
       {{"x", arrow::list(arrow::int64()), "[[1, 2], [-1, 1]]"}, {"y", arrow::int32(), goodLabels}},
       "Feature does not fit uint8: -1, element 0, column 'x'" + place +
           "; give the Input another dtype or cast the column"},
      {"not a number into uint8",
       {{"x", arrow::list(arrow::float32()), "[[1, 2], [NaN, 1]]"}, {"y", arrow::int32(), goodLabels}},
       "Feature does not fit uint8: nan, element 0, column 'x'" + place +
           "; give the Input another dtype or cast the column"},
  };
  for (const auto& one : cases) {
    IngestColumns names{{"x"}, {"y"}};
    for (const Column& column : one.columns) {
      if (column.name == "w") names.weight = "w";
      if (column.name == "v") names.validation = "v";
    }
    EXPECT_EQ(errorOf(one.columns, names, kTwoBytes), one.text) << one.what;
  }
}

TEST_F(ArrowIngestTest, numbersThatNoFloatOrWholeTypeHoldsAreRefused) {
  struct {
    DType wanted;
    std::string json;
  } cases[] = {{DType::kFloat32, "[1e39]"},
               {DType::kFloat32, "[-1e39]"},
               {DType::kInt8, "[128]"},
               {DType::kInt8, "[-129]"},
               {DType::kInt16, "[32768]"},
               {DType::kInt32, "[2147483648]"},
               {DType::kInt64, "[9223372036854775808]"}};
  for (const auto& one : cases) {
    std::string text = errorOf({{"x", arrow::float64(), one.json}}, {{"x"}, {}}, noTarget(one.wanted, 1));
    EXPECT_EQ(text.find("Feature does not fit " + nameOf(one.wanted) + ": "), 0u) << text;
  }
}

TEST_F(ArrowIngestTest, wrongSchemasAreRefusedBeforeAnyRow) {
  Column images{"image", arrow::binary(), R"(["aa"])"}, labels{"label", arrow::int32(), "[1]"};
  struct {
    const char* what;
    std::vector<Column> columns;
    IngestColumns names;
    std::string text;
  } cases[] = {
      {"features column missing",
       {images, labels},
       {{"imgae"}, {"label"}, "", ""},
       "Unknown column: imgae, nearest known: image"},
      {"label column missing", {images}, {{"image"}, {"y"}, "", ""}, "Unknown column: y, known: image"},
      {"weight column missing",
       {images, labels},
       {{"image"}, {"label"}, "w8", ""},
       "Unknown column: w8, known: image, label"},
      {"validation column missing",
       {images, labels},
       {{"image"}, {"label"}, "", "labels"},
       "Unknown column: labels, nearest known: label"},
      {"two of a name",
       {images, images, labels},
       {{"image"}, {"label"}, "", ""},
       "Two columns have the same name: image"},
      {"features are text",
       {{"image", arrow::utf8(), R"(["aa"])"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of features column 'image': string, wanted a vocabulary or hashBuckets for its texts"},
      {"features are a list of texts",
       {{"image", arrow::list(arrow::utf8()), R"([["aa"]])"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of features column 'image': list<item: string>, wanted a vocabulary or hashBuckets for its texts"},
      {"features are a map",
       {{"image", arrow::map(arrow::utf8(), arrow::int32()), R"([[["a", 1]]])"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of features column 'image': map<string, int32>, wanted a number, an array of numbers, an ML vector, "
       "binary or an image"},
      {"one number for two features",
       {{"image", arrow::float32(), "[1]"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong length of column 'image': 1 value a row, wanted 2 for shape (1, 2, 1) of uint8"},
      {"fixed binary of another size",
       {{"image", arrow::fixed_size_binary(3), R"(["aaa"])"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong length of column 'image': 3 bytes a row, wanted 2 for shape (1, 2, 1) of uint8"},
      {"fixed list of another size",
       {{"image", arrow::fixed_size_list(arrow::float32(), 3), "[[1, 2, 3]]"}, labels},
       {{"image"}, {"label"}, "", ""},
       "Wrong length of column 'image': 3 values a row, wanted 2 for shape (1, 2, 1) of uint8"},
      {"label is text",
       {images, {"label", arrow::utf8(), R"(["cat"])"}},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of label column 'label': string, wanted a number, or give the column a vocabulary"},
      {"label is a map",
       {images, {"label", arrow::map(arrow::utf8(), arrow::int32()), R"([[["a", 1]]])"}},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of label column 'label': map<string, int32>, wanted a number"},
      {"label is a struct",
       {images, {"label", arrow::struct_({arrow::field("a", arrow::int32())}), R"([{"a": 1}])"}},
       {{"image"}, {"label"}, "", ""},
       "Wrong type of label column 'label': struct<a: int32>, wanted a number"},
      {"weight is boolean",
       {images, labels, {"w", arrow::boolean(), "[true]"}},
       {{"image"}, {"label"}, "w", ""},
       "Wrong type of weight column 'w': bool, wanted a number"},
      {"validation is a number",
       {images, labels, {"v", arrow::int32(), "[1]"}},
       {{"image"}, {"label"}, "", "v"},
       "Wrong type of validation indicator column 'v': int32, wanted boolean"},
  };
  for (const auto& one : cases) EXPECT_EQ(errorOf(one.columns, one.names, kTwoBytes), one.text) << one.what;
}

TEST_F(ArrowIngestTest, misuseIsInternalAndReleasesWhatItWasGiven) {
  RowStore rows(noTarget(DType::kUint8, 2));
  auto batch = batchOf({{"x", arrow::binary(), R"(["aa"])"}});
  ArrowIngest ingest({{"x"}, {}}, {}, &rows, nullptr);
  EXPECT_THROW(ingest.schema(nullptr), InternalError);
  EXPECT_THROW(ingest.ingest(nullptr, 0, 0), InternalError);

  ArrowArray array;
  ArrowSchema schema;
  ASSERT_TRUE(arrow::ExportRecordBatch(*batch, &array, &schema).ok());
  EXPECT_THROW(ingest.ingest(&array, 0, 0), InternalError);  // before its schema
  EXPECT_EQ(array.release, nullptr);
  EXPECT_THROW(ingest.ingest(&array, 0, 0), InternalError);  // released already
  ingest.schema(&schema);
  EXPECT_THROW(ingest.schema(&schema), InternalError);  // released already

  auto other = batchOf({{"x", arrow::binary(), R"(["aa"])"}, {"y", arrow::int32(), "[1]"}});
  ASSERT_TRUE(arrow::ExportRecordBatch(*other, &array).ok());
  EXPECT_THROW(ingest.ingest(&array, 0, 0), InternalError);  // not of this schema
  EXPECT_EQ(array.release, nullptr);

  for (auto [partition, firstRow] : {std::pair<int, int64_t>{-1, 0}, {0, -1}, {0, int64_t{1} << 40}}) {
    ASSERT_TRUE(arrow::ExportRecordBatch(*batch, &array).ok());
    EXPECT_THROW(ingest.ingest(&array, partition, firstRow), InternalError);
    EXPECT_EQ(array.release, nullptr);
  }
  EXPECT_EQ(rows.numRows(), 0);
}

TEST_F(ArrowIngestTest, takesSeveralInputsAndTargets) {
  RowFormat format{{{DType::kFloat32, 2}, {DType::kInt32, 3, {}, 1, 7}}, {{4, true}, {2, true}, {1, false}}};
  RowStore rows(format);
  std::vector<TargetRule> rules = {{.shape = {4}},
                                   {.shape = {2}, .takesValues = true, .probabilities = true},
                                   {.shape = {1}, .takesClass = false, .takesValues = true}};
  ArrowIngest ingest({{"x", "tokens"}, {"kind", "shares", "height"}}, rules, &rows, nullptr);
  handOver(ingest, *batchOf({{"height", arrow::float64(), "[-1.5, 2]"},
                             {"tokens", arrow::list(arrow::int64()), "[[0, 1, 6], [2, 2, 2]]"},
                             {"kind", arrow::int32(), "[3, 0]"},
                             {"shares", arrow::list(arrow::float32()), "[[0.25, 0.75], [1, 0]]"},
                             {"x", arrow::list(arrow::float64()), "[[1, 2], [3, 4]]"}}));
  ASSERT_EQ(rows.numRows(), 2);
  EXPECT_EQ(featuresOf(rows, 1), (std::vector<double>{3, 4}));
  EXPECT_EQ(reinterpret_cast<const int32_t*>(rows.features(0, 1))[2], 6);
  EXPECT_EQ(rows.label(0, 0), 3);
  EXPECT_FALSE(rows.format().targets[1].isClass);
  EXPECT_EQ(rows.values(0, 1)[1], 0.75f);
  EXPECT_EQ(rows.values(0, 2)[0], -1.5f);
}

// Where both are taken, the column's type says which it is.
TEST_F(ArrowIngestTest, numbersAreClassesWhereTheyCanBe) {
  TargetRule either{.shape = {3}, .takesValues = true};
  for (bool isClass : {true, false}) {
    RowStore rows(oneClass(DType::kUint8, 2, {}, 3));
    ArrowIngest ingest({{"x"}, {"y"}}, {either}, &rows, nullptr);
    Column labels = isClass ? Column{"y", arrow::float64(), "[2]"}
                            : Column{"y", arrow::fixed_size_list(arrow::float64(), 3), "[[0, 0.5, 1]]"};
    handOver(ingest, *batchOf({{"x", arrow::binary(), R"(["aa"])"}, labels}));
    EXPECT_EQ(rows.format().targets[0].isClass, isClass);
    EXPECT_EQ(isClass ? static_cast<float>(rows.label(0)) : rows.values(0)[1], isClass ? 2.0f : 0.5f);
  }
}

// More rows than a chunk takes, and than are looked at together: of three columns for one input, a class and a weight,
// some for validation, in long and in short runs.
struct ManyRows {
  explicit ManyRows(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      auto number = static_cast<double>(i);
      EXPECT_TRUE(a.Append(static_cast<float>(i)).ok() && b.Append(number / 2).ok());
      EXPECT_TRUE(c.Append(static_cast<int32_t>(-i)).ok() && label.Append(i % 10).ok());
      EXPECT_TRUE(weight.Append(1 + number).ok() && held.Append(isHeld(i)).ok());
    }
  }
  static bool isHeld(int64_t i) { return i / 5000 % 2 == 1 || i % 97 == 0; }

  std::shared_ptr<arrow::RecordBatch> batch() {
    auto schema = arrow::schema({arrow::field("a", arrow::float32()), arrow::field("b", arrow::float64()),
                                 arrow::field("c", arrow::int32()), arrow::field("y", arrow::int64()),
                                 arrow::field("w", arrow::float64()), arrow::field("held", arrow::boolean())});
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (arrow::ArrayBuilder* builder : std::initializer_list<arrow::ArrayBuilder*>{&a, &b, &c, &label, &weight, &held})
      arrays.push_back(builder->Finish().ValueOrDie());
    int64_t length = arrays[0]->length();
    return arrow::RecordBatch::Make(schema, length, std::move(arrays));
  }

  arrow::FloatBuilder a{arrow::system_memory_pool()};
  arrow::DoubleBuilder b{arrow::system_memory_pool()}, weight{arrow::system_memory_pool()};
  arrow::Int32Builder c{arrow::system_memory_pool()};
  arrow::Int64Builder label{arrow::system_memory_pool()};
  arrow::BooleanBuilder held{arrow::system_memory_pool()};
};

TEST_F(ArrowIngestTest, columnsOfManyRowsComeTogetherInEachRow) {
  for (bool someAreHeld : {false, true}) {
    RowFormat format = oneClass(DType::kFloat32, 3);
    RowStore training(format), validation(format);
    IngestColumns columns{{InputColumns({"a", "b", "c"})}, {"y"}, "w", someAreHeld ? "held" : ""};
    ArrowIngest ingest(columns, rulesOf(format), &training, &validation);
    handOver(ingest, *ManyRows(100'000).batch(), 3, 0);
    ASSERT_EQ(training.numRows() + validation.numRows(), 100'000);
    ASSERT_EQ(validation.numRows() > 0, someAreHeld);
    int64_t next[2] = {0, 0};
    for (int64_t i = 0; i < 100'000; ++i) {
      bool isHeld = someAreHeld && ManyRows::isHeld(i);
      const RowStore& rows = isHeld ? validation : training;
      int64_t row = next[isHeld ? 1 : 0]++;
      const float* features = reinterpret_cast<const float*>(rows.features(row));
      auto number = static_cast<float>(i);
      ASSERT_EQ(std::vector<float>(features, features + 3), (std::vector<float>{number, number / 2, -number}));
      ASSERT_EQ(rows.label(row), i % 10);
      ASSERT_EQ(rows.weight(row), 1 + number);
      ASSERT_EQ(rows.rowId(row), makeRowId(3, i));
    }
  }
}

TEST_F(ArrowIngestTest, oneWrongRowAmongManyIsNamed) {
  const std::string place = "row 54710 of partition 3";
  auto errorOfMany = [](DType type, auto addWrong) -> std::string {
    RowFormat format = oneClass(type, 3);
    RowStore training(format);
    ArrowIngest ingest({{InputColumns({"a", "b", "c"})}, {"y"}, "w"}, rulesOf(format), &training, nullptr);
    ManyRows rows(50'000);
    addWrong(rows);
    EXPECT_TRUE(rows.held.Append(false).ok());
    try {
      handOver(ingest, *rows.batch());
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  auto add = [](ManyRows& rows, float a, double b, int64_t label, double weight) {
    EXPECT_TRUE(rows.a.Append(a).ok() && rows.b.Append(b).ok() && rows.c.Append(0).ok());
    EXPECT_TRUE(rows.label.Append(label).ok() && rows.weight.Append(weight).ok());
  };
  EXPECT_EQ(errorOfMany(DType::kFloat32, [&](ManyRows& rows) { add(rows, -NAN, 1, 2, 1); }),
            "Feature is not finite: nan, element 0, column 'a', " + place +
                "; drop such rows, or set the column's nans to \"pass\"");
  EXPECT_EQ(errorOfMany(DType::kFloat32, [&](ManyRows& rows) { add(rows, 1, 1e300, 2, 1); }),
            "Feature does not fit float32: 1e+300, element 0, column 'b', " + place +
                "; give the Input another dtype or cast the column");
  EXPECT_EQ(errorOfMany(DType::kFloat32, [&](ManyRows& rows) { add(rows, 1, 1, 10, 1); }),
            "Label out of range: 10, classes: 10, column 'y', " + place + beyond);
  EXPECT_EQ(errorOfMany(DType::kFloat32, [&](ManyRows& rows) { add(rows, 1, 1, 2, -1); }),
            "Weight is not a finite number of at least 0: -1, column 'w', " + place);
}

TEST_F(ArrowIngestTest, badTargetsAndIndicesNameColumnRowAndPartition) {
  const std::string place = ", row 4711 of partition 3";
  const TargetRule values{.shape = {2}, .takesClass = false, .takesValues = true};
  const TargetRule shares{.shape = {2}, .takesValues = true, .probabilities = true};
  const TargetRule number{.shape = {1}, .takesClass = false, .takesValues = true};
  auto list = arrow::list(arrow::float64());
  struct {
    TargetRule rule;
    std::shared_ptr<arrow::DataType> type;
    std::string json, text;
  } cases[] = {
      {values, list, "[[1, 2], [1, NaN]]", "Label is not finite: nan, element 1, column 'y'" + place},
      {values, list, "[[1, 2], [1, 1e300]]",
       "Label does not fit float32: 1e+300, element 1, column 'y'" + place + "; cast the column"},
      {values, list, "[[1, 2], [1]]", "Wrong length of array: 1 values, wanted 2 for shape (2,), column 'y'" + place},
      {values, list, "[[1, 2], null]", "Label is null: column 'y'" + place + "; drop such rows"},
      {values, list, "[[1, 2], [1, null]]", "Label is null: element 1, column 'y'" + place + "; drop such rows"},
      {shares, list, "[[1, 0], [0.5, 1.5]]", "Label is not in 0..1: 1.5, element 1, column 'y'" + place},
      {shares, arrow::int32(), "[1, 2]", "Label out of range: 2, classes: 2, column 'y'" + place + beyond},
      {number, arrow::float32(), "[1, Inf]", "Label is not finite: inf, element 0, column 'y'" + place},
      {values, arrow::float32(), "[1, 2]",
       "Wrong length of column 'y': 1 value a row, wanted 2 for shape (2,) of float32"},
      {values, arrow::utf8(), R"(["a", "b"])",
       "Wrong type of label column 'y': string, wanted a number, or give the column a vocabulary"},
      {number, arrow::binary(), R"(["abcd", "efgh"])",
       "Wrong type of label column 'y': binary, wanted a number or an array of numbers"},
      {TargetRule{.shape = {2}}, list, "[[1, 0], [0, 1]]",
       "Wrong type of label column 'y': list<item: double>, wanted a number"},
  };
  auto errorWith = [](RowFormat format, TargetRule rule, const std::vector<Column>& columns) -> std::string {
    RowStore rows(std::move(format));
    ArrowIngest ingest({{"x"}, {"y"}}, {std::move(rule)}, &rows, nullptr);
    try {
      handOver(ingest, *batchOf(columns));
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
  };
  for (const auto& one : cases) {
    RowFormat format{{{DType::kUint8, 2}}, {{one.rule.shape.numElements(), one.rule.takesClass}}};
    std::vector<Column> columns = {{"x", arrow::binary(), R"(["aa", "bb"])"}, {"y", one.type, one.json}};
    EXPECT_EQ(errorWith(format, one.rule, columns), one.text) << one.json;
  }
  for (auto [type, json, found] : {std::tuple(DType::kInt32, "[[0, 1], [2, 7]]", "7"),
                                   {DType::kInt64, "[[0, 1], [2, -1]]", "-1"},
                                   {DType::kFloat32, "[[0, 1], [2, 0.5]]", "0.5"}}) {
    RowFormat format{{{type, 2, {}, 1, 7}}, {{2, true}}};
    std::vector<Column> columns = {{"x", list, json}, {"y", arrow::int32(), "[0, 1]"}};
    EXPECT_EQ(errorWith(format, {.shape = {2}}, columns),
              message("Index out of range: ", found, ", wanted a whole number below 7, element 1, column 'x'", place));
  }
}

TEST_F(ArrowIngestTest, countsWhatArrowHolds) {
  auto batch = batchOf({{"x", arrow::binary(), R"(["aa"])"}});
  EXPECT_GT(arrowBytesAllocated(), 0);
  batch.reset();
  EXPECT_EQ(arrowBytesAllocated(), 0);
  EXPECT_EQ(arrowVersion().substr(0, 3), "25.");
}

}  // namespace
}  // namespace bloomery::data
