// What the rules of columns make of values: several columns in one input, nulls, categories, tokens, shapes.
#include <cmath>

#include "data/Categories.h"
#include "data/arrow/IngestTest.h"

namespace bloomery::data {
namespace {

class ColumnRulesTest : public IngestTest {};

InputColumn columnWith(const char* name, NullRule nulls) {
  InputColumn column(name);
  column.nulls = nulls;
  return column;
}

// The values of the first rows, of one input of this type that these columns fill.
std::vector<std::vector<double>> ingested(DType type, Shape shape, std::vector<InputColumn> rules,
                                          const std::vector<Column>& columns) {
  RowFormat format{{{type, shape.numElements(), shape}}, {}};
  RowStore rows(format);
  ArrowIngest ingest({{std::move(rules)}, {}}, {}, &rows, nullptr);
  handOver(ingest, *batchOf(columns));
  std::vector<std::vector<double>> values;
  for (int64_t row = 0; row < rows.numRows(); ++row) values.push_back(featuresOf(rows, row));
  return values;
}

std::string errorWith(DType type, Shape shape, std::vector<InputColumn> rules, const std::vector<Column>& columns) {
  try {
    ingested(type, std::move(shape), std::move(rules), columns);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

using Rows = std::vector<std::vector<double>>;

TEST_F(ColumnRulesTest, severalColumnsLieOneAfterTheOtherInAnInput) {
  auto list = arrow::list(arrow::float64());
  InputColumn sized("v");
  sized.size = 2;
  std::vector<Column> columns = {{"v", list, "[[4, 5], [6, 7]]"},
                                 {"b", arrow::boolean(), "[true, false]"},
                                 {"x", arrow::int32(), "[1, 2]"},
                                 {"w", arrow::fixed_size_list(arrow::float32(), 2), "[[8, 9], [10, 11]]"}};
  EXPECT_EQ(ingested(DType::kFloat32, {6}, {"x", "v", "b", "w"}, columns),
            (Rows{{1, 4, 5, 1, 8, 9}, {2, 6, 7, 0, 10, 11}}));
  EXPECT_EQ(ingested(DType::kUint8, {2}, {"x", "x"}, columns), (Rows{{1, 1}, {2, 2}}));  // one column twice
  EXPECT_EQ(errorWith(DType::kFloat32, {4}, {"x", "b"}, columns),
            "Columns do not fill the input: 2 values a row of columns 'x', 'b', wanted 4");
  EXPECT_EQ(errorWith(DType::kFloat32, {1}, {"x", "v"}, columns),
            "Columns do not fill the input: 1 values a row of columns 'x', 'v' without the array, wanted 1");
  std::vector<Column> twoLists = {{"v", list, "[[4, 5], [6]]"}, {"u", list, "[[1], [2]]"}};
  EXPECT_EQ(errorWith(DType::kFloat32, {3}, {"u", "v"}, twoLists),
            "Sizes of several columns of one input are not known: 'u', 'v', give all but one of them a size");
  EXPECT_EQ(
      errorWith(DType::kFloat32, {3}, {"u", sized}, twoLists),
      "Wrong length of array: 1 values, wanted 2 for shape (2,), column 'v', row 4711 of partition 3" + kLengthAdvice);
}

TEST_F(ColumnRulesTest, nullsBecomeZeroWhereTheRuleSaysSo) {
  std::vector<Column> columns = {{"x", arrow::int32(), "[null, 7]"},
                                 {"v", arrow::list(arrow::float64()), "[[1, null], null]"},
                                 {"m", vectorType(), "[null, [1, null, null, [3, 4]]]"}};
  InputColumn vector = columnWith("m", NullRule::kZero);
  vector.size = 2;
  EXPECT_EQ(ingested(DType::kFloat32, {5}, {columnWith("x", NullRule::kZero), columnWith("v", NullRule::kZero), vector},
                     columns),
            (Rows{{0, 1, 0, 0, 0}, {7, 0, 0, 3, 4}}));
  EXPECT_EQ(errorWith(DType::kFloat32, {5}, {columnWith("x", NullRule::kZero), "v", vector}, columns),
            "Feature is null: element 1, column 'v', row 4710 of partition 3" + kNullAdvice);
}

TEST_F(ColumnRulesTest, onlyFiniteFeaturesPassUnlessTheRuleSaysSo) {
  const std::string advice = "; drop such rows, or set the column's nans to \"pass\"";
  struct {
    std::shared_ptr<arrow::DataType> type;
    std::string json, text;
  } cases[] = {
      {arrow::list(arrow::float64()), "[[1, 2], [3, NaN]]", "nan, element 1"},
      {arrow::list(arrow::float64()), "[[1, 2], [-NaN, 3]]", "nan, element 0"},
      {arrow::list(arrow::float32()), "[[1, 2], [-Inf, 3]]", "-inf, element 0"},
      {vectorType(), "[[1, null, null, [1, 2]], [0, 2, [1], [Inf]]]", "inf, element 1"},
  };
  for (const auto& one : cases) {
    for (DType type : {DType::kFloat32, DType::kFloat64}) {
      std::vector<Column> columns = {{"x", one.type, one.json}};
      EXPECT_EQ(errorWith(type, {2}, {"x"}, columns),
                "Feature is not finite: " + one.text + ", column 'x', row 4711 of partition 3" + advice);
      InputColumn any("x");
      any.nans = NanRule::kPass;
      EXPECT_EQ(ingested(type, {2}, {any}, columns).size(), 2u);
    }
  }
}

TEST_F(ColumnRulesTest, categoriesBecomeTheirPlaceInTheVocabulary) {
  InputColumn given("c"), last("c"), hashed("c"), numbers("n"), coded("d");
  given.categories = CategoryRule{.vocabulary = {"AA", "DL", "UA"}};
  coded.categories = given.categories;
  coded.name = "d";
  last.categories = CategoryRule{.vocabulary = {"UA"}, .unknownIsLast = true};
  hashed.categories = CategoryRule{.hashBuckets = 5};
  numbers.categories = CategoryRule{.vocabulary = {"-7", "12"}};
  std::vector<Column> columns = {{"c", arrow::utf8(), R"(["UA", "AA"])"},
                                 {"n", arrow::int64(), "[12, -7]"},
                                 {"d", arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["DL", "UA"])"}};
  EXPECT_EQ(ingested(DType::kInt32, {3}, {given, numbers, coded}, columns), (Rows{{2, 1, 1}, {0, 0, 2}}));
  EXPECT_EQ(ingested(DType::kFloat32, {1}, {last}, columns), (Rows{{0}, {1}}));
  Categories buckets(*hashed.categories);
  EXPECT_EQ(ingested(DType::kUint8, {1}, {hashed}, columns),
            (Rows{{static_cast<double>(buckets.indexOf("UA"))}, {static_cast<double>(buckets.indexOf("AA"))}}));
  columns[0].json = R"(["UA", "XX"])";
  EXPECT_EQ(
      errorWith(DType::kInt32, {1}, {given}, columns),
      "Category out of vocabulary: 'XX', vocabulary: 3 words, column 'c', row 4711 of partition 3; add it, or set "
      "outOfVocabulary to \"last\"");
  columns[0].json = R"(["UA", null])";
  EXPECT_EQ(errorWith(DType::kInt32, {1}, {given}, columns),
            "Features are null: column 'c', row 4711 of partition 3" + kNullAdvice);
  EXPECT_EQ(errorWith(DType::kInt32, {1}, {"c"}, columns),
            "Wrong type of features column 'c': string, wanted a vocabulary or hashBuckets for its texts");
}

// The same buckets in every release and on every machine, or a saved model would mean something else.
TEST(Categories, bucketsOfAHashStayWhatTheyAre) {
  Categories buckets(CategoryRule{.hashBuckets = 1000});
  EXPECT_EQ(buckets.indexOf(""), 871);
  EXPECT_EQ(buckets.indexOf("AA"), 525);
  EXPECT_EQ(buckets.indexOf("z\u00fcrich"), 430);
}

TEST_F(ColumnRulesTest, tokensArePaddedAndTruncated) {
  auto rule = [](std::optional<End> padding, std::optional<End> truncating) {
    InputColumn column("t");
    column.padding = padding;
    column.truncating = truncating;
    return column;
  };
  std::vector<Column> columns = {{"t", arrow::list(arrow::int32()), "[[1, 2, 3, 4], [5, 6], []]"}};
  EXPECT_EQ(ingested(DType::kInt32, {3}, {rule(End::kBack, End::kBack)}, columns),
            (Rows{{1, 2, 3}, {5, 6, 0}, {0, 0, 0}}));
  EXPECT_EQ(ingested(DType::kInt32, {3}, {rule(End::kFront, End::kFront)}, columns),
            (Rows{{2, 3, 4}, {0, 5, 6}, {0, 0, 0}}));
  EXPECT_NE(errorWith(DType::kInt32, {3}, {rule(End::kBack, {})}, columns).find("Wrong length of array: 4 values"),
            std::string::npos);
  EXPECT_NE(errorWith(DType::kInt32, {3}, {rule({}, End::kBack)}, columns).find("Wrong length of array: 2 values"),
            std::string::npos);
  InputColumn words = rule(End::kBack, End::kBack);
  words.categories = CategoryRule{.vocabulary = {"a", "b"}, .unknownIsLast = true, .firstIndex = 1};
  std::vector<Column> texts = {{"t", arrow::list(arrow::utf8()), R"([["b", "x", "a", "a"], ["a"]])"}};
  EXPECT_EQ(ingested(DType::kInt32, {3}, {words}, texts), (Rows{{2, 3, 1}, {1, 0, 0}}));
  EXPECT_EQ(errorWith(DType::kInt32, {3}, {rule(End::kBack, {})}, {{"t", arrow::int32(), "[1]"}}),
            "Wrong type of features column 't': int32, wanted an array of values, for padding and truncating");
}

TEST_F(ColumnRulesTest, badShapesNameColumnRowAndPartition) {
  const std::string place = ", column 'x', row 4711 of partition 3";
  auto nested = arrow::list(arrow::list(arrow::float64()));
  struct {
    std::shared_ptr<arrow::DataType> type;
    Shape shape;
    std::string json, text;
  } cases[] = {
      {nested,
       {2, 2},
       "[[[1, 2], [3, 4]], [[1, 2], [3]]]",
       "Ragged array: 1 values in array 1, wanted 2" + place + "; make all arrays inside equally long"},
      {nested,
       {2, 2},
       "[[[1, 2], [3, 4]], [[1, 2, 3, 4]]]",
       "Ragged array: 4 values in array 0, wanted 2" + place + "; make all arrays inside equally long"},
      {nested,
       {4},
       "[[[1, 2], [3, 4]], [[1], [2, 3, 4]]]",
       "Ragged array: 3 values in array 1, wanted 1" + place + "; make all arrays inside equally long"},
      {nested,
       {2, 2},
       "[[[1, 2], [3, 4]], [[1, 2], null]]",
       "Array inside an array is null: array 1" + place + "; drop such rows"},
      {nested,
       {2, 2},
       "[[[1, 2], [3, 4]], [[1, 2]]]",
       "Wrong length of array: 2 values, wanted 4 for shape (2, 2)" + place + kLengthAdvice},
      {vectorType(),
       {2},
       "[[1, null, null, [1, 2]], [1, null, null, [1, 2, 3]]]",
       "Wrong size of vector: 3 values, wanted 2 for shape (2,)" + place + "; give the Input another shape"},
      {vectorType(),
       {2},
       "[[1, null, null, [1, 2]], [0, 3, [2], [1]]]",
       "Wrong size of vector: 3 values, wanted 2 for shape (2,)" + place + "; give the Input another shape"},
      {vectorType(), {2}, "[[1, null, null, [1, 2]], [0, 2, [2], [1]]]", "Index out of a vector: 2, size 2" + place},
      {vectorType(), {2}, "[[1, null, null, [1, 2]], [0, 2, [0, 1], [1]]]", "Vector is not valid: " + place.substr(2)},
      {imageType(),
       {1, 2, 1},
       R"([["", 1, 2, 1, 0, "aa"], ["", 2, 1, 1, 0, "aa"]])",
       "Wrong size of image: (2, 1, 1), wanted (1, 2, 1)" + place +
           "; resize the images, or give the Input their shape"},
      {imageType(),
       {1, 2, 1},
       R"([["", 1, 2, 1, 0, "aa"], ["", 1, 2, 1, 0, "aaaa"]])",
       "Wrong length of image data: 4 bytes, wanted 2 for size (1, 2, 1)" + place + "; give one byte a value"},
      {imageType(),
       {1, 2, 1},
       R"([["", 1, 2, 1, 0, "aa"], ["", 1, 2, null, 0, "aa"]])",
       "Image is not complete: " + place.substr(2) + "; drop such rows"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(errorWith(DType::kFloat32, one.shape, {"x"}, {{"x", one.type, one.json}}), one.text) << one.json;
  }
}

TEST_F(ColumnRulesTest, wordsOfAVocabularyAreLabels) {
  TargetRule rule{.shape = {3}, .vocabulary = CategoryRule{.vocabulary = {"cat", "dog", "eel"}}};
  for (const Column& labels : {Column{"y", arrow::utf8(), R"(["eel", "dog"])"},
                               Column{"y", arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["eel", "dog"])"}}) {
    RowStore rows(oneClass(DType::kUint8, 2, {}, 3));
    ArrowIngest ingest({{"x"}, {"y"}}, {rule}, &rows, nullptr);
    handOver(ingest, *batchOf({{"x", arrow::binary(), R"(["aa", "bb"])"}, labels}));
    EXPECT_EQ(rows.label(0), 2);
    EXPECT_EQ(rows.label(1), 1);
  }
}

TEST_F(ColumnRulesTest, labelThatIsNoWordOfItsVocabularySaysWhatToDo) {
  TargetRule rule{.shape = {2}, .vocabulary = CategoryRule{.vocabulary = {"cat", "dog"}}};
  RowStore rows(oneClass(DType::kUint8, 2, {}, 2));
  ArrowIngest ingest({{"x"}, {"y"}}, {rule}, &rows, nullptr);
  std::string text;
  try {
    handOver(ingest, *batchOf({{"x", arrow::binary(), R"(["aa"])"}, {"y", arrow::utf8(), R"(["eel"])"}}));
  } catch (const UserError& error) {
    text = error.what();
  }
  EXPECT_EQ(text,
            "Category out of vocabulary: 'eel', vocabulary: 2 words, column 'y', row 4710 of partition 3; add it, or "
            "drop such rows");
}

}  // namespace
}  // namespace bloomery::data
