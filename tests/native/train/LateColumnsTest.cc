#include "train/LateColumns.h"

#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "checkpoint/Safetensors.h"
#include "comm/local/LocalGroup.h"
#include "data/arrow/Batches.h"
#include "train/Predictor.h"
#include "train/Trainer.h"

namespace bloomery::train {
namespace {

using data::batchOf;
using data::Column;

const char* kNetwork =
    R"({"layers": [{"kind": "Input", "shape": [3]}, {"kind": "Dense", "units": 2, "activation": "softmax"}]})";
const char* kColumns = R"([{"column": "c", "vocabulary": "learn"}, {"column": "x", "nulls": "mean"}])";

struct Rows {
  std::string words, numbers, labels;
};

std::vector<Column> columnsOf(const Rows& rows) {
  return {{"c", arrow::utf8(), rows.words},
          {"x", arrow::list(arrow::float64()), rows.numbers},
          {"label", arrow::int32(), rows.labels}};
}

std::string taskOf(const std::string& network, const std::string& columns, const std::string& training, int rank,
                   int size) {
  return message(R"({"network": )", network, R"(, "training": )", training, R"(, "columns": {"features": )", columns,
                 R"(, "label": "label"}, "worker": {"rank": )", rank, R"(, "size": )", size, "}}");
}

// The weights of the first of these workers, each with its own rows; the first failure is rethrown.
std::string train(const std::vector<Rows>& rows, const std::string& columns = kColumns,
                  const std::string& network = kNetwork, const std::string& training = R"({"epochs": 2})") {
  int size = static_cast<int>(rows.size());
  auto group = comm::makeLocalGroup(size);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (int rank = 0; rank < size; ++rank) {
    trainers.push_back(
        std::make_unique<Trainer>(taskOf(network, columns, training, rank, size), std::span<const std::byte>()));
    trainers.back()->start(std::move(group[static_cast<size_t>(rank)]), {});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    auto batch = batchOf(columnsOf(rows[i]));
    ArrowArray array;
    ArrowSchema schema;
    check(arrow::ExportRecordBatch(*batch, &array, &schema).ok(), "export");
    trainers[i]->ingestSchema(&schema);
    trainers[i]->ingest(&array, static_cast<int>(i), 0);
    trainers[i]->finishIngest();
  }
  for (auto& trainer : trainers) {
    while (trainer->poll(std::chrono::milliseconds(20)).at("state") != "finished") {
    }
  }
  return trainers[0]->weights();
}

Json settledBy(const std::string& weights) {
  return Json::parse(checkpoint::readMetadata(std::as_bytes(std::span(weights)), "columns"));
}

std::vector<float> predict(const std::string& weights, const std::string& columns, const Rows& rows) {
  Predictor predictor(message(R"({"network": )", kNetwork, R"(, "columns": {"features": )", columns, "}}"),
                      std::as_bytes(std::span(weights)));
  auto batch = batchOf(columnsOf(rows));
  ArrowArray array;
  ArrowSchema schema;
  check(arrow::ExportRecordBatch(*batch, &array, &schema).ok(), "export");
  std::vector<float> raw(static_cast<size_t>(2 * batch->num_rows()));
  predictor.predict(&schema, &array, 0, 0, raw.data(), nullptr);
  return raw;
}

TEST(LateColumns, vocabularyAndMeansAreThoseOfAllWorkers) {
  Rows first{R"(["b", "a", "c"])", "[[1, 2], [3, null], null]", "[0, 1, 0]"};
  Rows second{R"(["c", "c", "b"])", "[[null, 4], [5, null], [3, 9]]", "[1, 1, 0]"};
  Json expected = Json::parse(R"([[{"vocabulary": ["c", "b", "a"]}, {"means": [3.0, 5.0]}]])");
  EXPECT_EQ(settledBy(train({first, second})), expected);
  EXPECT_EQ(settledBy(train({second, first})), expected);
  Rows none{"[]", "[]", "[]"};
  EXPECT_EQ(settledBy(train({none, first, second})), expected);
}

// One worker with rows in which everything is known already ends with the same weights.
TEST(LateColumns, trainingSeesWhatWasSettled) {
  Rows open{R"(["b", "c", "c", "a", "c", "b"])", "[[1, 2], [3, null], null, [null, 4], [5, null], [3, 9]]",
            "[0, 1, 0, 1, 1, 0]"};
  Rows known = open;
  known.numbers = "[[1, 2], [3, 5], [3, 5], [3, 4], [5, 5], [3, 9]]";
  std::string given = R"([{"column": "c", "vocabulary": ["c", "b", "a"]}, "x"])";
  std::string learnt = train({open}), wanted = train({known}, given);
  EXPECT_EQ(predict(learnt, kColumns, open), predict(wanted, given, known));
}

TEST(LateColumns, predictionTakesWhatTrainingSettled) {
  Rows rows{R"(["b", "c", "c"])", "[[1, 2], [3, 4], [5, 9]]", "[0, 1, 0]"};
  std::string weights = train({rows});
  // At once and one by one: a mean or a place of the rows at hand would differ.
  auto all = predict(weights, kColumns, {R"(["b", "c"])", "[null, [3, null]]", "[0, 0]"});
  auto alone = predict(weights, kColumns, {R"(["b"])", "[[3, 5]]", "[0]"});
  EXPECT_EQ((std::vector<float>{all[0], all[1]}), alone);
  try {
    predict(weights, kColumns, {R"(["z"])", "[[3, 5]]", "[0]"});
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("Category out of vocabulary: 'z', vocabulary: 2 words"),
              std::string::npos);
  }
}

TEST(LateColumns, weightsOfOtherColumnsAreRefused) {
  std::string given = R"([{"column": "c", "vocabulary": ["b", "c"]}, "x"])";
  Rows rows{R"(["b", "c"])", "[[1, 2], [3, 4]]", "[0, 1]"};
  std::string weights = train({rows}, given);
  try {
    predict(weights, kColumns, rows);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "Weights do not tell what training settled for column 'c': they come from a training with other columns");
  }
}

TEST(LateColumns, vocabulariesKeepTheMostFrequentWords) {
  std::string some = R"([{"column": "c", "vocabulary": "learn", "maxSize": 2, "outOfVocabulary": "last"}, "x"])";
  Rows rows{R"(["d", "b", "a", "d", "b", "c"])", "[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]",
            "[0, 1, 0, 1, 0, 1]"};
  EXPECT_EQ(settledBy(train({rows}, some)).at(0).at(0).at("vocabulary"), Json({"b", "d"}));
}

TEST(LateColumns, whatRowsDoNotSettleIsRefusedInOneSentence) {
  std::string embedding = R"({"layers": [{"kind": "Input", "shape": [1], "dtype": "int32"},
    {"kind": "Embedding", "inputDim": 2, "outputDim": 2}, {"kind": "Flatten"}, {"kind": "Dense", "units": 2, "activation": "softmax"}]})";
  struct {
    Rows rows;
    std::string columns, network, training, error;
  } cases[] = {
      {{R"(["a"])", "[[1, null]]", "[0]"},
       kColumns,
       kNetwork,
       "{}",
       "No mean for nulls: column 'x' has no other value in any row, element 1; set its nulls to \"zero\", or leave it "
       "out"},
      {{R"(["a", "b", "c"])", "[[1], [1], [1]]", "[0, 1, 0]"},
       R"({"column": "c", "vocabulary": "learn"})",
       embedding,
       "{}",
       "Learnt vocabulary is too large: 3 words of column 'c', rows of the Embedding: 2; set its maxSize, with "
       "outOfVocabulary \"last\""},
  };
  for (const auto& one : cases) {
    try {
      train({one.rows}, one.columns, one.network, one.training);
      ADD_FAILURE() << one.error;
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), one.error);
    }
  }
}

}  // namespace
}  // namespace bloomery::train
