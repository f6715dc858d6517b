#include "train/Columns.h"

#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "train/TaskSpec.h"

namespace bloomery::train {
namespace {

data::IngestColumns read(const std::string& features) {
  Json json = Json::parse(R"({"features": )" + features + "}");
  return readColumns(&json, {"in"}, {"out"});
}

TEST(ColumnsOfAnInput, aListNamesSeveralWithTheirRules) {
  auto columns = read(R"(["x", {"column": "v", "size": 3, "nulls": "zero", "nans": "pass"},
                          {"column": "c", "vocabulary": ["a", 7], "outOfVocabulary": "last"},
                          {"column": "t", "hashBuckets": 9, "padding": "post", "truncating": "pre"}])")
                     .features.at(0)
                     .columns;
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[0].name, "x");
  EXPECT_EQ(columns[0].nulls, data::NullRule::kError);
  EXPECT_EQ(columns[0].nans, data::NanRule::kError);
  EXPECT_FALSE(columns[0].categories);
  EXPECT_EQ(columns[1].size, 3);
  EXPECT_EQ(columns[1].nulls, data::NullRule::kZero);
  EXPECT_EQ(columns[1].nans, data::NanRule::kPass);
  EXPECT_EQ(columns[2].categories->vocabulary, (std::vector<std::string>{"a", "7"}));
  EXPECT_TRUE(columns[2].categories->unknownIsLast);
  EXPECT_EQ(columns[2].categories->indexLimit(), 3);
  EXPECT_EQ(columns[3].padding, data::End::kBack);
  EXPECT_EQ(columns[3].truncating, data::End::kFront);
  EXPECT_EQ(columns[3].categories->indexLimit(), 10);  // 0 is what fills up
}

TEST(ColumnsOfAnInput, takeTheRulesOfAllUnlessTheyHaveTheirOwn) {
  Json json = Json::parse(R"({"inputs": {"a": ["x", {"column": "y", "nulls": "error"}], "b": "z"},
                              "nulls": "zero", "nans": "pass", "labels": {"out": {"column": "l", "vocabulary": ["p"]}}})");
  auto columns = readColumns(&json, {"a", "b"}, {"out"});
  EXPECT_EQ(columns.features[0].columns[0].nulls, data::NullRule::kZero);
  EXPECT_EQ(columns.features[0].columns[1].nulls, data::NullRule::kError);
  EXPECT_EQ(columns.features[1].columns[0].nulls, data::NullRule::kZero);
  EXPECT_EQ(columns.features[1].columns[0].nans, data::NanRule::kPass);
  EXPECT_EQ(columns.targets, std::vector<data::TargetColumns>{"l"});
  EXPECT_EQ(columns.vocabularies.at(0)->vocabulary, std::vector<std::string>{"p"});
  EXPECT_EQ(columns.names(), (std::vector<std::string>{"x", "y", "z", "l"}));
}

TEST(ColumnsOfAnInput, wrongOptionsAreRefusedInOneSentence) {
  struct {
    const char* features;
    std::string error;
  } cases[] = {
      {"[]", "No columns are named, in columns.features"},
      {"7", "Wrong value for columns.features: 7, wanted a column's name, an object or a list"},
      {R"([""])", "Name of a column is empty, in columns.features"},
      {R"({"size": 2})", "Missing option: column, in columns.features"},
      {R"({"column": "x", "null": "zero"})",
       "Unknown option: null, nearest known: nulls, in column 'x' of columns.features"},
      {R"({"column": "x", "nulls": "zeros"})",
       "Unknown nulls: zeros, nearest known: zero, in column 'x' of columns.features"},
      {R"({"column": "x", "nans": "drop"})",
       "Unknown nans: drop, known: error, pass, in column 'x' of columns.features"},
      {R"({"column": "x", "padding": "left"})",
       "Unknown padding: left, known: post, pre, in column 'x' of columns.features"},
      {R"({"column": "x", "size": 0})", "Not positive: size 0, in column 'x' of columns.features"},
      {R"({"column": "x", "hashBuckets": -1})", "Not positive: hashBuckets -1, in column 'x' of columns.features"},
      {R"({"column": "x", "hashBuckets": 4, "vocabulary": ["a"]})",
       "Both vocabulary and hashBuckets are set: keep one, in column 'x' of columns.features"},
      {R"({"column": "x", "vocabulary": []})",
       "Wrong vocabulary: an empty list, wanted a list of texts or whole numbers, or \"learn\", in column 'x' of "
       "columns.features"},
      {R"({"column": "x", "vocabulary": [1.5]})",
       "Wrong vocabulary: 1.5, wanted a list of texts or whole numbers, or \"learn\", in column 'x' of "
       "columns.features"},
      {R"({"column": "x", "vocabulary": ["a", "b", "a"]})",
       "Word is twice in the vocabulary: 'a', in column 'x' of columns.features"},
      {R"({"column": "x", "outOfVocabulary": "last"})",
       "Option outOfVocabulary needs a vocabulary, in column 'x' of columns.features"},
  };
  for (const auto& one : cases) {
    std::string error;
    try {
      read(one.features);
    } catch (const UserError& caught) {
      error = caught.what();
    }
    EXPECT_EQ(error, one.error) << one.features;
  }
}

TEST(ColumnsOfAnInput, categoriesBeyondAnEmbeddingAreRefused) {
  auto task = [](const char* column) {
    return TaskSpec::parse(message(R"({"network": {"format": "bloomery-network", "version": 1, "layers": [
      {"kind": "Input", "shape": [1], "dtype": "int32", "name": "in"},
      {"kind": "Embedding", "inputDim": 3, "outputDim": 2}, {"kind": "Flatten"}, {"kind": "Dense", "units": 2}]},
      "columns": {"features": )",
                                   column, "}}"));
  };
  task(R"({"column": "c", "vocabulary": ["a", "b"], "outOfVocabulary": "last"})");
  task(R"({"column": "c", "hashBuckets": 3})");
  for (const char* column : {R"({"column": "c", "vocabulary": ["a", "b", "c"], "outOfVocabulary": "last"})",
                             R"({"column": "c", "hashBuckets": 4})"}) {
    try {
      task(column);
      ADD_FAILURE() << column;
    } catch (const UserError& error) {
      EXPECT_EQ(
          error.what(),
          std::string("More categories than the Embedding has rows: 4 indices of column 'c', rows: 3, input 'in'"));
    }
  }
}

}  // namespace
}  // namespace bloomery::train
