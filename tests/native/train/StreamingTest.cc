// Training while rows still come: when they come changes nothing.
#include <gtest/gtest.h>

#include "train/ArrowRows.h"
#include "train/Describe.h"
#include "train/Trainer.h"

namespace bloomery::train {
namespace {

using std::chrono::milliseconds;

constexpr const char* kTraining = R"({"epochs": 2, "batchSize": 8, "optimizer": "adam", "seed": 3})";
constexpr const char* kSmallBuffer = R"(, "data": {"shuffleBuffer": 20})";

void pause(int milli) { std::this_thread::sleep_for(milliseconds(milli)); }

void expectSame(const std::vector<WorkerResult>& actual, const std::vector<WorkerResult>& wanted) {
  for (size_t rank = 0; rank < wanted.size(); ++rank) {
    EXPECT_EQ(actual[rank].parameters, wanted[0].parameters) << "rank " << rank;
    EXPECT_EQ(actual[rank].losses, wanted[rank].losses);
    EXPECT_EQ(actual[rank].samples, wanted[rank].samples);
  }
}

TEST(Streaming, resultsDoNotDependOnWhenRowsCome) {
  for (bool weighted : {false, true}) {
    std::vector<WorkerRows> rows = {{idRange(0, 90), idRange(900, 10)}, {idRange(100, 41)}, {idRange(200, 7)}};
    std::string sections = kSmallBuffer;
    if (weighted) {
      sections += R"(, "columns": {"label": "label", "weight": "w"})";
      for (auto& one : rows) one.weightOf = [](uint64_t id) { return 0.1f + static_cast<float>(id % 13) / 7; };
    }
    auto atOnce = trainTogether(kTraining, rows, smallNetwork(), sections);
    for (auto& one : rows) one.beforeRow = [](size_t) {};
    expectSame(trainTogether(kTraining, rows, smallNetwork(), sections), atOnce);
    rows[0].beforeRow = [](size_t row) { pause(row % 30 == 29 ? 120 : 0); };
    rows[1].beforeRow = [](size_t row) { pause(row % 9 == 0 ? 15 : 0); };
    expectSame(trainTogether(kTraining, rows, smallNetwork(), sections), atOnce);
  }
}

TEST(Streaming, theBufferDecidesTheFirstEpochOnly) {
  std::vector<WorkerRows> rows = {{idRange(0, 100)}};
  auto lossesWith = [&](const char* training, const char* sections) {
    return trainTogether(training, rows, smallNetwork(), sections)[0].losses;
  };
  EXPECT_NE(lossesWith(kTraining, kSmallBuffer), lossesWith(kTraining, R"(, "data": {"shuffleBuffer": 21})"));
  constexpr const char* kOrdered = R"({"epochs": 2, "batchSize": 8, "seed": 3, "shuffle": false})";
  EXPECT_EQ(lossesWith(kOrdered, kSmallBuffer), lossesWith(kOrdered, ""));
}

TEST(Streaming, aWorkerThatWaitsThreeTimesTheTimeoutForItsRowsIsNotLost) {
  std::vector<WorkerRows> rows = {{idRange(0, 60)}, {idRange(100, 60)}, {{}}};
  auto wanted = trainTogether(kTraining, rows, smallNetwork(), kSmallBuffer);
  rows[1].beforeRow = [](size_t row) { pause(row == 0 || row == 45 ? 900 : 0); };
  expectSame(trainTogether(kTraining, rows, smallNetwork(), kSmallBuffer, "0.3"), wanted);
}

// Rows as an executor feeds them, in batches of this size.
std::string trainInBatches(const std::vector<uint64_t>& ids, size_t rowsPerBatch, const std::string& task,
                           const std::function<void(Trainer&, size_t)>& beforeBatch = {}) {
  Trainer trainer(task, {});
  trainer.connect({""}, "");
  for (size_t i = 0; i < ids.size(); i += rowsPerBatch) {
    if (beforeBatch) beforeBatch(trainer, i);
    ArrowRows rows({ids.begin() + static_cast<int64_t>(i),
                    ids.begin() + static_cast<int64_t>(std::min(ids.size(), i + rowsPerBatch))});
    data::ArrowBatchGuard guard(rows.schema(), rows.array());
    if (i == 0) trainer.ingestSchema(rows.schema());
    trainer.ingest(rows.array(), 0, static_cast<int64_t>(i));
  }
  trainer.finishIngest();
  while (trainer.poll(milliseconds(100)).at("state") != "finished") {
  }
  return trainer.weights();
}

TEST(Streaming, arrowBatchesOfAnySizeGiveTheSameWeights) {
  std::string task = taskJson(kTraining, 0, 1, std::string(kImageColumns) + kSmallBuffer);
  auto ids = idRange(0, 230);
  std::string wanted = trainInBatches(ids, 230, task);
  for (size_t rowsPerBatch : {1u, 17u, 100u}) EXPECT_EQ(trainInBatches(ids, rowsPerBatch, task), wanted);
}

TEST(Streaming, trainsBeforeTheLastRowsAreThere) {
  std::string task = taskJson(kTraining, 0, 1, std::string(kImageColumns) + kSmallBuffer);
  int64_t stepsBefore = 0;
  trainInBatches(idRange(0, 200), 100, task, [&](Trainer& trainer, size_t row) {
    if (row == 0) return;
    for (int polls = 0; polls < 200 && stepsBefore < 10; ++polls) {
      Json news = trainer.poll(milliseconds(10));
      stepsBefore = news.at("step").get<int64_t>();
      EXPECT_EQ(news.at("steps"), 0) << "nobody knows yet";
    }
  });
  EXPECT_EQ(stepsBefore, 10) << "100 rows, less a buffer of 20, are ten steps of 8";
}

// The ingesting thread gives way for a moment only: where the machine has none to give, it is tried again.
TEST(Streaming, theFirstStepFindsNoMoreRowsThanItNeeds) {
  std::string task = taskJson(kTraining, 0, 1, std::string(kImageColumns) + kSmallBuffer);
  std::string state;
  for (int tries = 0; tries < 5 && state != "training"; ++tries) {
    trainInBatches(idRange(0, 200), 30, task, [&](Trainer& trainer, size_t row) {
      if (row == 30) state = trainer.poll(milliseconds(0)).at("state");
    });
  }
  EXPECT_EQ(state, "training") << "30 rows are a buffer of 20 and a step of 8";
}

TEST(Streaming, epochsTellWhatTheWorkerReadAndConverted) {
  Trainer trainer(taskJson(R"({"epochs": 2})", 0, 1, kImageColumns), {});
  trainer.connect({""}, "");
  ArrowRows rows(idRange(0, 100));
  trainer.ingestSchema(rows.schema());
  pause(60);
  trainer.ingest(rows.array(), 0, 0);
  trainer.finishIngest();
  std::vector<Json> epochs;
  for (bool finished = false; !finished;) {
    Json news = trainer.poll(milliseconds(100));
    finished = news.at("state") == "finished";
    for (const Json& epoch : news.at("history")) epochs.push_back(epoch);
  }
  ASSERT_EQ(epochs.size(), 2u);
  for (const Json& epoch : epochs) {
    EXPECT_EQ(epoch.at("rows"), 100);
    EXPECT_EQ(epoch.at("bytes"), 100 * (36 + 4 + 12));
  }
  EXPECT_GT(epochs[0].at("readSeconds").get<double>(), 0.05);
  EXPECT_GT(epochs[0].at("convertSeconds").get<double>(), 0.0);
  EXPECT_EQ(epochs[1].at("readSeconds"), 0.0);
  EXPECT_EQ(epochs[1].at("convertSeconds"), 0.0);
}

TEST(Streaming, aBadValueEndsATrainingThatHasBegun) {
  std::string network = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8"}, {"kind": "Flatten"},
                            {"kind": "Dense", "units": 2, "activation": "softmax"}]})";
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; ids.size() < 40; ++id) {
    if (philox(7, id, 0)[0] % 3 < 2) ids.push_back(id);
  }
  for (uint64_t id = 0; ids.size() < 41; ++id) {
    if (philox(7, id, 0)[0] % 3 == 2) ids.push_back(id);
  }
  std::string task =
      taskJson(R"({"batchSize": 4})", 0, 1, std::string(kImageColumns) + R"(, "data": {"shuffleBuffer": 4})", network);
  try {
    trainInBatches(ids, 40, task, [](Trainer& trainer, size_t row) {
      while (row > 0 && trainer.poll(milliseconds(10)).at("step").get<int64_t>() < 5) {
      }
    });
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "Label out of range: 2, classes: 2, column 'label', row 40 of partition 0; classes count from 0, so "
                 "index the labels or give the last layer more units");
  }
}

struct LoadsFirst {
  const char* name;
  const char* training;
  const char* why;  // nullptr: streams
  std::string network = smallNetwork();
};

// The small network with this behind its Input.
std::string networkWith(const std::string& layer) {
  std::string network = smallNetwork();
  return network.insert(network.find(R"({"kind": "Conv2D")"), layer + ", ");
}

class LoadsFirstTest : public testing::TestWithParam<LoadsFirst> {};

TEST_P(LoadsFirstTest, describeSaysWhetherTrainingWaitsForAllRows) {
  Json told = Json::parse(describe(taskJson(GetParam().training, 0, 1, "", GetParam().network)));
  EXPECT_EQ(told.at("streams"), GetParam().why == nullptr);
  EXPECT_EQ(told.contains("loadsFirst"), GetParam().why != nullptr);
  if (GetParam().why != nullptr) {
    std::string why = told.at("loadsFirst").get<std::string>();
    EXPECT_NE(why.find(GetParam().why), std::string::npos) << why;
  }
  std::vector<WorkerRows> rows = {{idRange(0, 30)}};
  rows[0].beforeRow = [](size_t row) { pause(row == 29 ? 60 : 0); };
  EXPECT_EQ(trainTogether(GetParam().training, rows, GetParam().network)[0].samples.back(), 30);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, LoadsFirstTest,
    testing::Values(
        LoadsFirst{"constant", R"({"batchSize": 4})", nullptr},
        LoadsFirst{"stepsAreKnown",
                   R"({"optimizer": {"kind": "sgd", "learningRate": {"kind": "cosine", "initialLearningRate": 0.1,
                      "decaySteps": 10, "warmupSteps": 3}}})",
                   nullptr},
        LoadsFirst{"plateau",
                   R"({"optimizer": {"kind": "sgd", "learningRate": {"kind": "reduce_on_plateau",
                      "initialLearningRate": 0.1, "monitor": "loss"}}})",
                   nullptr},
        LoadsFirst{"cosine",
                   R"({"optimizer": {"kind": "sgd", "learningRate": {"kind": "cosine", "initialLearningRate": 0.1,
                      "decayEpochs": 10}}})",
                   "counts epochs"},
        LoadsFirst{"warmup",
                   R"({"optimizer": {"kind": "sgd", "learningRate": {"kind": "constant", "initialLearningRate": 0.1,
                      "warmupEpochs": 1}}})",
                   "counts epochs"},
        LoadsFirst{"normalization", R"({"batchSize": 4})",
                   "layer 'scaled' (Normalization) takes mean and variance from all",
                   networkWith(R"({"kind": "Normalization", "name": "scaled"})")},
        LoadsFirst{"normalizationGiven", R"({"batchSize": 4})", nullptr,
                   networkWith(R"({"kind": "Normalization", "mean": 0.4, "variance": [0.2]})")},
        LoadsFirst{"passes", R"({"batchSize": 4, "backwardPassesPerStep": 2})", "backwardPassesPerStep"}),
    [](const auto& test) { return test.param.name; });

TEST(Streaming, schedulesOfEpochsStreamWhereTheirStepsAreKnown) {
  auto training = [](const std::string& more) {
    return message(R"({"epochs": 2, "batchSize": 4, "optimizer": {"kind": "sgd", "learningRate": {"kind": "cosine",
                      "initialLearningRate": 0.1, "decayEpochs": 3}})",
                   more, "}");
  };
  const std::string rowsAreKnown = R"(, "data": {"rowsOfWorkers": [30, 7]})";
  std::vector<WorkerRows> rows = {{idRange(0, 30)}, {idRange(50, 7)}};
  auto streams = [](const std::string& task, const std::string& sections) {
    return Json::parse(describe(taskJson(task, 0, 2, sections))).at("streams").get<bool>();
  };
  EXPECT_FALSE(streams(training(""), ""));
  EXPECT_FALSE(streams(training(R"(, "validationFraction": 0.2)"), rowsAreKnown));
  auto loaded = trainTogether(training(""), rows)[0];
  struct {
    std::string more, sections;
  } cases[] = {{R"(, "stepsPerEpoch": 8)", ""}, {"", rowsAreKnown}};
  for (const auto& one : cases) {
    EXPECT_TRUE(streams(training(one.more), one.sections));
    auto streamed = trainTogether(training(one.more), rows, smallNetwork(), one.sections)[0];
    EXPECT_EQ(streamed.lastEpoch.at("learningRate"), loaded.lastEpoch.at("learningRate"));
    EXPECT_TRUE(streamed.log.empty());
  }
  auto wrong = trainTogether(training(R"(, "stepsPerEpoch": 5)"), rows)[0];
  EXPECT_EQ(wrong.log,
            std::vector<std::string>{"Steps of an epoch are 8, not the 5 that stepsPerEpoch says: the learning "
                                     "rate's schedule counts the latter"});
  EXPECT_LT(wrong.lastEpoch.at("learningRate"), loaded.lastEpoch.at("learningRate"));
}

TEST(Streaming, theBufferMustHoldRows) {
  try {
    TaskSpec::parse(taskJson("{}", 0, 1, R"(, "data": {"shuffleBuffer": 0})"));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "shuffleBuffer out of range: 0, give rows from 1 to 268435456");
  }
}

}  // namespace
}  // namespace bloomery::train
