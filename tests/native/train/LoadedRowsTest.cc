// Trainings one after the other over rows that were taken in once: each gives the bits that it gives alone.
#include "train/LoadedRows.h"

#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "train/ArrowRows.h"
#include "train/Trainer.h"

namespace bloomery::train {
namespace {

using std::chrono::milliseconds;

constexpr const char* kHalfHeld = R"({"epochs": 2, "batchSize": 8, "validationFraction": 0.5, "seed": 3})";

std::string taskOf(const std::string& training, const std::string& network = smallNetwork()) {
  return taskJson(training, 0, 1, std::string(kImageColumns) + R"(, "data": {"shuffleBuffer": 20})", network);
}

std::vector<Json> finish(Trainer& trainer) {
  std::vector<Json> epochs;
  for (bool finished = false; !finished;) {
    Json news = trainer.poll(milliseconds(100));
    finished = news.at("state") == "finished";
    for (const Json& epoch : news.at("history")) epochs.push_back(epoch);
  }
  return epochs;
}

void feed(Trainer& trainer, uint64_t numRows) {
  ArrowRows rows(idRange(0, numRows));
  trainer.ingestSchema(rows.schema());
  trainer.ingest(rows.array(), 0, 0);
  trainer.finishIngest();
}

std::string trainAlone(const std::string& task) {
  Trainer trainer(task, {});
  trainer.connect({""}, "");
  feed(trainer, 100);
  finish(trainer);
  return trainer.weights();
}

TEST(LoadedRows, everyTrainingOverThemGivesTheBitsThatItGivesAlone) {
  std::string other = smallNetwork();
  other.replace(other.find("\"units\": 16"), 11, "\"units\": 24");
  const std::vector<std::string> tasks = {
      taskOf(R"({"epochs": 2, "batchSize": 8, "optimizer": "adam", "seed": 3})"),
      taskOf(R"({"epochs": 1, "batchSize": 32, "optimizer": "sgd", "seed": 4})"),
      taskOf(R"({"epochs": 3, "batchSize": 5, "shuffle": false, "metrics": ["accuracy"]})"),
      taskOf(R"({"epochs": 2, "seed": 3})", other),
  };
  std::unique_ptr<Trainer> last;
  for (const std::string& task : tasks) {
    auto trainer = last == nullptr ? std::make_unique<Trainer>(task, std::span<const std::byte>())
                                   : std::make_unique<Trainer>(task, std::span<const std::byte>(), *last);
    bool first = last == nullptr;
    last = std::move(trainer);
    last->connect({""}, "");
    if (first) feed(*last, 100);
    std::vector<Json> epochs = finish(*last);
    EXPECT_EQ(last->weights(), trainAlone(task)) << task;
    EXPECT_EQ(epochs[0].at("samples"), 100);
    if (!first) {
      EXPECT_EQ(epochs[0].at("rowsAtStart"), 100) << "all were there";
      EXPECT_EQ(epochs[0].at("convertSeconds"), 0.0) << "and none was converted again";
    }
  }
}

TEST(LoadedRows, areKnownByWhatTheyHoldHoweverTheyCome) {
  TaskSpec task = TaskSpec::parse(taskOf("{}"));
  task.checkpoint.emplace();
  auto contents = [&](const std::vector<std::vector<uint64_t>>& batches) {
    LoadedRows rows(task);
    int partition = 0;
    for (const std::vector<uint64_t>& ids : batches) {
      ArrowRows batch(ids);
      rows.schema(batch.schema());
      rows.ingest(batch.array(), partition++, 0);
    }
    return rows.training().contents();
  };
  EXPECT_EQ(contents({idRange(0, 60), idRange(60, 40)}), contents({idRange(0, 100)}));
  EXPECT_EQ(contents({idRange(60, 40), idRange(0, 60)}), contents({idRange(0, 100)}));
  EXPECT_NE(contents({idRange(1, 100)}), contents({idRange(0, 100)}));
  task.checkpoint.reset();
  EXPECT_EQ(contents({idRange(1, 100)}), 0) << "nobody asks";
}

TEST(LoadedRows, aTaskThatKeepsRowsOtherwiseIsRefused) {
  Trainer first(taskOf(kHalfHeld), {});
  first.connect({""}, "");
  EXPECT_THROW(Trainer(taskOf(kHalfHeld), {}, first), InternalError) << "it has not finished";
  feed(first, 100);
  finish(first);
  for (const char* training :
       {R"({"validationFraction": 0.4, "seed": 3})", R"({"validationFraction": 0.5, "seed": 4})", R"({"seed": 3})"}) {
    EXPECT_THROW(Trainer(taskOf(training), {}, first), InternalError) << training;
  }
  Trainer second(taskOf(R"({"epochs": 1, "validationFraction": 0.5, "seed": 3})"), {}, first);
  second.connect({""}, "");
  EXPECT_TRUE(finish(second)[0].contains("validation"));
}

TEST(LoadedRows, theirKindIsWhatTheyAreReadAndKeptAs) {
  auto kind = [](const std::string& training, const std::string& sections = kImageColumns,
                 const std::string& network = smallNetwork()) {
    return kindOfRows(TaskSpec::parse(taskJson(training, 0, 1, sections, network)));
  };
  const std::string wanted = kind("{}");
  for (const char* training :
       {R"({"epochs": 7, "batchSize": 3, "optimizer": "sgd", "seed": 9, "metrics": ["accuracy"]})",
        R"({"classWeights": {"0": 2}, "stepsPerEpoch": 4})"}) {
    EXPECT_EQ(kind(training), wanted) << training;
  }
  for (const char* training : {R"({"validationFraction": 0.1})", R"({"loss": "mse"})"}) {
    EXPECT_NE(kind(training), wanted) << training;
  }
  for (const char* columns : {R"("features": "other", "label": "label")", R"("features": "image", "label": "other")",
                              R"("features": "image", "label": "label", "weight": "w")",
                              R"("features": "image", "label": "label", "validation": "held")",
                              R"("features": "image", "label": "label", "nans": "pass")",
                              R"("features": "image", "label": {"column": "label", "vocabulary": ["a", "b", "c"]})"}) {
    EXPECT_NE(kind("{}", std::string(R"(, "columns": {)") + columns + "}"), wanted) << columns;
  }
  std::string scaled = smallNetwork(), wider = smallNetwork();
  scaled.replace(scaled.find("0.00392156862745098"), 19, "0.5");
  wider.replace(wider.find("\"units\": 3,"), 11, "\"units\": 4,");
  EXPECT_NE(kind("{}", kImageColumns, scaled), wanted);
  EXPECT_NE(kind("{}", kImageColumns, wider), wanted);
}

}  // namespace
}  // namespace bloomery::train
