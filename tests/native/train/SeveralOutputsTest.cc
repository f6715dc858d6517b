// Two inputs, one of them indices, and two outputs, from Arrow columns to predictions.
#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>

#include "train/Predictor.h"
#include "train/Trainer.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

const std::string kNetwork = R"({"name": "two", "outputs": ["species", "height"], "layers": [
  {"kind": "Input", "name": "leaf", "shape": [3]},
  {"kind": "Input", "name": "words", "shape": [2], "dtype": "int32"},
  {"kind": "Embedding", "name": "meaning", "inputDim": 5, "outputDim": 4, "inputs": ["words"]},
  {"kind": "Flatten", "name": "flat", "inputs": ["meaning"]},
  {"kind": "Concatenate", "name": "both", "inputs": ["leaf", "flat"]},
  {"kind": "Dense", "name": "hidden", "units": 16, "activation": "relu", "inputs": ["both"]},
  {"kind": "Dense", "name": "species", "units": 3, "activation": "softmax", "inputs": ["hidden"]},
  {"kind": "Dense", "name": "height", "units": 1, "inputs": ["hidden"]}]})";

const std::string kColumns =
    R"(, "columns": {"inputs": {"words": "w", "leaf": "x"}, "labels": {"species": "kind", "height": "cm"}})";

const std::string kTraining = R"({"epochs": 40, "batchSize": 16, "optimizer": {"kind": "adam", "learningRate": 0.01},
  "loss": {"species": "sparse_categorical_crossentropy", "height": "mse"}, "lossWeights": {"height": 0.5},
  "metrics": {"species": ["accuracy"], "height": ["mae", "r2"]}})";

// The first word tells the class, the leaf the height.
struct Row {
  explicit Row(uint64_t id) {
    for (size_t i = 0; i < 3; ++i) leaf[i] = uniformFloat(philox(1, id, i)[0]);
    word = static_cast<int32_t>(philox(2, id, 0)[0] % 3);
    other = static_cast<int32_t>(philox(2, id, 0)[1] % 5);
    height = 2 * leaf[0] - leaf[1] + 0.5f;
  }
  float leaf[3];
  int32_t word, other;
  float height;
};

class Rows {
 public:
  Rows(uint64_t first, uint64_t count, int32_t added = 0) {
    arrow::MemoryPool* pool = arrow::system_memory_pool();
    auto floats = std::make_shared<arrow::FloatBuilder>(pool);
    auto words = std::make_shared<arrow::Int32Builder>(pool);
    arrow::ListBuilder leaves(pool, floats), sentences(pool, words);
    arrow::Int32Builder kinds(pool);
    arrow::DoubleBuilder heights(pool);
    for (uint64_t id = first; id < first + count; ++id) {
      Row row(id);
      check(leaves.Append().ok() && floats->AppendValues(row.leaf, 3).ok(), "append");
      check(sentences.Append().ok() && words->Append(row.word).ok() && words->Append(row.other + added).ok(), "append");
      check(kinds.Append(row.word).ok() && heights.Append(row.height).ok(), "append");
    }
    auto schema = arrow::schema({arrow::field("kind", arrow::int32()), arrow::field("x", arrow::list(arrow::float32())),
                                 arrow::field("cm", arrow::float64()), arrow::field("w", arrow::list(arrow::int32()))});
    auto batch = arrow::RecordBatch::Make(schema, static_cast<int64_t>(count),
                                          {kinds.Finish().ValueOrDie(), leaves.Finish().ValueOrDie(),
                                           heights.Finish().ValueOrDie(), sentences.Finish().ValueOrDie()});
    check(arrow::ExportRecordBatch(*batch, &array, &schema_).ok(), "export");
  }
  ArrowArray array;
  ArrowSchema schema_;
};

struct Outcome {
  std::string weights;
  Json lastEpoch;
};

std::vector<Outcome> train(int size) {
  auto group = comm::makeLocalGroup(size);
  std::vector<std::future<Outcome>> workers;
  for (int rank = 0; rank < size; ++rank) {
    workers.push_back(std::async(std::launch::async, [&, rank] {
      Trainer trainer(taskJson(kTraining, rank, size, kColumns, kNetwork), {});
      trainer.start(std::move(group[static_cast<size_t>(rank)]), {});
      Rows rows(static_cast<uint64_t>(rank) * 1000, 200);
      trainer.ingestSchema(&rows.schema_);
      trainer.ingest(&rows.array, rank, 0);
      trainer.finishIngest();
      Outcome outcome;
      for (bool finished = false; !finished;) {
        Json news = trainer.poll(std::chrono::milliseconds(50));
        for (const Json& epoch : news.at("history")) outcome.lastEpoch = epoch;
        finished = news.at("state") == "finished";
      }
      outcome.weights = trainer.weights();
      return outcome;
    }));
  }
  std::vector<Outcome> outcomes;
  for (auto& worker : workers) outcomes.push_back(worker.get());
  return outcomes;
}

TEST(SeveralOutputs, learnAndPredict) {
  Outcome outcome = train(1)[0];
  const Json& metrics = outcome.lastEpoch.at("metrics");
  EXPECT_EQ(metrics.size(), 5u);
  EXPECT_GT(metrics.at("species_accuracy").get<double>(), 0.95);
  EXPECT_GT(metrics.at("height_r2").get<double>(), 0.9);
  EXPECT_NEAR(outcome.lastEpoch.at("loss").get<double>(),
              metrics.at("species_loss").get<double>() + 0.5 * metrics.at("height_loss").get<double>(), 1e-6);

  Predictor predictor(message(R"({"network": )", kNetwork, kColumns, "}"), std::as_bytes(std::span(outcome.weights)));
  constexpr uint64_t kCount = 300;  // a full batch and a rest
  Rows rows(7000, kCount);
  std::vector<float> raw(4 * kCount), probability(4 * kCount);
  predictor.predict(&rows.schema_, &rows.array, 0, 0, raw.data(), probability.data());
  int right = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    Row row(7000 + i);
    const float* p = &probability[4 * i];
    EXPECT_NEAR(p[0] + p[1] + p[2], 1.0, 1e-5);
    EXPECT_EQ(p[3], raw[4 * i + 3]);
    EXPECT_NEAR(p[3], row.height, 0.6);
    right += std::max_element(p, p + 3) - p == row.word ? 1 : 0;
  }
  EXPECT_GT(right, 280);
}

TEST(SeveralOutputs, twoWorkersAgree) {
  auto outcomes = train(2);
  EXPECT_EQ(outcomes[0].weights, outcomes[1].weights);
  EXPECT_EQ(outcomes[0].lastEpoch.at("metrics"), outcomes[1].lastEpoch.at("metrics"));
  EXPECT_EQ(outcomes[0].lastEpoch.at("samples"), 400);
}

TEST(SeveralOutputs, anIndexOutOfRangeNamesItsPlace) {
  Trainer trainer(taskJson(kTraining, 0, 1, kColumns, kNetwork), {});
  Rows rows(0, 1, 5);
  trainer.ingestSchema(&rows.schema_);
  try {
    trainer.ingest(&rows.array, 4, 10);
    FAIL();
  } catch (const UserError& error) {
    std::string text = error.what();
    EXPECT_NE(text.find("wanted a whole number below 5, element 1, column 'w', row 10 of partition 4"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace bloomery::train
