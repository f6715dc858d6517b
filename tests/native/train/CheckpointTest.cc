// A training that was interrupted at any step and taken up again ends with the bits of one that never was.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>

#include "train/CheckpointSettings.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

using std::chrono::milliseconds;

// One checkpoint, as all workers left it.
struct Saved {
  int64_t epoch = 0, step = 0;
  bool finished = false;
  std::vector<SavedState> byRank = {};
};

// Takes what comes to the slots of all workers, on a thread of its own.
class Taker {
 public:
  explicit Taker(size_t size) {
    for (size_t rank = 0; rank < size; ++rank) checkpoints.push_back(std::make_unique<Checkpoints>());
    thread_ = std::thread([this] { take(); });
  }
  ~Taker() { join(); }
  void join() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::vector<std::unique_ptr<Checkpoints>> checkpoints;  // by rank
  std::vector<Saved> taken;                               // complete ones, in order

 private:
  // A checkpoint is complete with the last worker's part; only then rank 0 may make another.
  void take() {
    while (!done_ || checkpoints[0]->slot.await(milliseconds(0)) != nullptr) {
      const Snapshot* first = checkpoints[0]->slot.await(milliseconds(5));
      if (first == nullptr) continue;
      Saved saved{first->epoch, first->step, first->finished, {}};
      for (auto& one : checkpoints) {
        const Snapshot* snapshot = one->slot.await(milliseconds(5000));
        ASSERT_NE(snapshot, nullptr);
        ASSERT_EQ(std::pair(snapshot->epoch, snapshot->step), std::pair(saved.epoch, saved.step));
        saved.byRank.push_back({first->shared, snapshot->own});
      }
      taken.push_back(std::move(saved));
      for (size_t rank = checkpoints.size(); rank > 0; --rank) checkpoints[rank - 1]->slot.release();
    }
  }

  std::atomic<bool> done_{false};
  std::thread thread_;
};

constexpr const char* kEveryStep = R"(, "checkpoint": {"steps": 1, "epochs": 1})";

struct Case {
  const char* name;
  std::string training;  // beside epochs, batchSize and seed
  std::string network = smallNetwork();
  std::string sections = "";
  bool slow = false;  // rows come while training runs
  bool weighted = false;
  int64_t epochs = 4;
};

std::vector<WorkerRows> rowsOf(const Case& test, size_t workers) {
  std::vector<WorkerRows> rows = {{idRange(0, 50), idRange(900, 11)}};
  if (workers > 1) rows.push_back({idRange(100, 35), idRange(950, 5)});
  for (WorkerRows& one : rows) {
    if (test.slow)
      one.beforeRow = [](size_t row) {
        if (row % 20 == 19) std::this_thread::sleep_for(milliseconds(10));
      };
    if (test.weighted) one.weightOf = [](uint64_t id) { return 0.1f + static_cast<float>(id % 13) / 7; };
  }
  return rows;
}

std::string trainingOf(const Case& test, int64_t epochs) {
  return message(R"({"batchSize": 8, "seed": 3, "metrics": ["accuracy", "mse"], "epochs": )", epochs,
                 test.training.empty() ? "" : ", ", test.training, "}");
}

std::vector<Saved> checkpointsOf(const Case& test, std::vector<WorkerRows> rows, int64_t epochs) {
  Taker taker(rows.size());
  for (size_t rank = 0; rank < rows.size(); ++rank) rows[rank].checkpoints = taker.checkpoints[rank].get();
  trainTogether(trainingOf(test, epochs), rows, test.network, test.sections + kEveryStep);
  taker.join();
  return std::move(taker.taken);
}

std::vector<WorkerResult> goOnFrom(const Saved& saved, const Case& test, std::vector<WorkerRows> rows) {
  std::vector<std::unique_ptr<Checkpoints>> checkpoints;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    checkpoints.push_back(std::make_unique<Checkpoints>());
    checkpoints.back()->saved = saved.byRank[std::min(rank, saved.byRank.size() - 1)];
    rows[rank].checkpoints = checkpoints.back().get();
  }
  return trainTogether(trainingOf(test, test.epochs), rows, test.network, test.sections);
}

// What depends on the clock is left out.
Json numbersOf(const Json& epoch) {
  Json numbers = Json::object();
  for (const char* key : {"epoch", "loss", "metrics", "validation", "learningRate", "samples", "steps", "rows"}) {
    if (epoch.contains(key)) numbers[key] = epoch.at(key);
  }
  return numbers;
}

void expectSame(const std::vector<WorkerResult>& actual, const std::vector<WorkerResult>& wanted) {
  for (size_t rank = 0; rank < wanted.size(); ++rank) {
    EXPECT_EQ(actual[rank].parameters, wanted[rank].parameters) << "rank " << rank;
    EXPECT_EQ(actual[rank].losses, wanted[rank].losses) << "rank " << rank;
    EXPECT_EQ(actual[rank].samples, wanted[rank].samples) << "rank " << rank;
    EXPECT_EQ(numbersOf(actual[rank].lastEpoch), numbersOf(wanted[rank].lastEpoch)) << "rank " << rank;
  }
}

class Interrupted : public testing::TestWithParam<std::tuple<Case, size_t>> {};

TEST_P(Interrupted, trainingGoesOnWithTheSameBits) {
  const auto& [test, workers] = GetParam();
  std::vector<WorkerRows> rows = rowsOf(test, workers);
  auto wanted = trainTogether(trainingOf(test, test.epochs), rows, test.network, test.sections);
  // A step whose copy would have to wait for the taker's thread has none: where that gets no time, there are few.
  std::vector<Saved> saved;
  for (int tries = 0; tries < 10 && saved.size() < 4; ++tries) saved = checkpointsOf(test, rows, test.epochs);
  ASSERT_GE(saved.size(), 4u);
  EXPECT_TRUE(saved.back().finished);
  EXPECT_EQ(saved.back().epoch, test.epochs + 1);
  int inEpochs = 0;
  // Not the same places in every case.
  size_t stride = std::max<size_t>(2, saved.size() / (test.slow ? 2 : 4)) - 1;
  for (size_t i = workers - 1; i < saved.size(); i += stride) {
    SCOPED_TRACE(message("epoch ", saved[i].epoch, ", step ", saved[i].step));
    inEpochs += saved[i].step > 0 ? 1 : 0;
    expectSame(goOnFrom(saved[i], test, rows), wanted);
  }
  EXPECT_GT(inEpochs, 0);
}

std::string optimizer(const std::string& kind, const std::string& options = "") {
  return message(R"("optimizer": {"kind": ")", kind, "\"", options, "}");
}

std::string schedule(const std::string& text) {
  return optimizer("sgd", message(R"(, "momentum": 0.5, "learningRate": {"initialLearningRate": 0.05, )", text, "}"));
}

std::string normalizedNetwork() {
  return R"({"layers": [
    {"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 12, "kernelRegularizer": {"l2": 0.01}}, {"kind": "BatchNormalization", "momentum": 0.8},
    {"kind": "ReLU"}, {"kind": "Dropout", "rate": 0.2}, {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

// About ten rows a chunk.
std::string largeNetwork() {
  return R"({"layers": [{"kind": "Input", "shape": [100000], "dtype": "uint8", "scale": 0.001},
             {"kind": "Dense", "units": 4, "activation": "relu"}, {"kind": "Dropout", "rate": 0.25},
             {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

std::string spilledSection() {
  return message(R"(, "data": {"shuffleBuffer": 25, "memory": 3145728, "folders": [")",
                 std::filesystem::temp_directory_path().string(), "\"]}");
}

std::vector<Case> optimizers() {
  return {{"sgd", optimizer("sgd")},
          {"nesterov", optimizer("sgd", R"(, "momentum": 0.9, "nesterov": true)")},
          {"adam", optimizer("adam")},
          {"adamw", optimizer("adamw")},
          {"adadelta", optimizer("adadelta")},
          {"adagrad", optimizer("adagrad")},
          {"rmsprop", optimizer("rmsprop", R"(, "momentum": 0.5, "centered": true)")},
          {"lamb", optimizer("lamb")}};
}

std::vector<Case> schedules() {
  std::string held = R"(, "columns": {"label": "label", "validation": "held"})";
  return {
      {"step", schedule(R"("kind": "step", "everySteps": 5, "factor": 0.5)")},
      {"exponential", schedule(R"("kind": "exponential", "decayEpochs": 1.5, "decayRate": 0.5)")},
      {"polynomial", schedule(R"("kind": "polynomial", "decaySteps": 20)")},
      {"cosine", schedule(R"("kind": "cosine", "decayEpochs": 4, "warmupSteps": 3)")},
      {"restarts", schedule(R"("kind": "cosine_restarts", "firstDecaySteps": 5)")},
      {"piecewise",
       optimizer("sgd", R"(, "learningRate": {"kind": "piecewise", "boundaryEpochs": [2], "values": [0.1, 0.01]})")},
      {"oneCycle",
       optimizer("sgd", R"(, "learningRate": {"kind": "one_cycle", "maxLearningRate": 0.1, "totalSteps": 25})")},
      {"plateau", schedule(R"("kind": "reduce_on_plateau", "patience": 1, "minDelta": 0.5, "monitor": "loss")")},
      {"plateauOfValidation", schedule(R"("kind": "reduce_on_plateau", "patience": 1, "minDelta": 0.5)"),
       smallNetwork(), held}};
}

std::vector<Case> ways() {
  std::string weights = R"(, "columns": {"label": "label", "weight": "w"})";
  return {{"averaged", R"("emaMomentum": 0.9)"},
          {"clippedNorm", R"("clipNorm": 0.5)"},
          {"passes", R"("backwardPassesPerStep": 2)"},
          {"inOrder", R"("shuffle": false)"},
          {"normalized", "", normalizedNetwork()},
          {"streamed", "", smallNetwork(), R"(, "data": {"shuffleBuffer": 10})", true},
          {"weighted", R"("classWeights": {"1": 3.5})", smallNetwork(), weights, false, true},
          {"weightedStreamed", "", smallNetwork(), weights + R"(, "data": {"shuffleBuffer": 10})", true, true},
          {"spilled", "", largeNetwork(), spilledSection(), true, false, 3}};
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Case, size_t>>& test) {
  return message(std::get<0>(test.param).name, std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Interrupted,
                         testing::Combine(testing::ValuesIn(optimizers()), testing::Values(size_t{1}, size_t{2})),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Schedules, Interrupted,
                         testing::Combine(testing::ValuesIn(schedules()), testing::Values(size_t{2})), nameOf);
INSTANTIATE_TEST_SUITE_P(Ways, Interrupted,
                         testing::Combine(testing::ValuesIn(ways()), testing::Values(size_t{1}, size_t{2})), nameOf);

Saved atEndOf(int64_t epoch, const std::vector<Saved>& saved) {
  for (const Saved& one : saved) {
    if (one.step == 0 && one.epoch == epoch + 1) return one;
  }
  throw InternalError(message("No checkpoint at the end of epoch ", epoch));
}

void expectRefused(const Saved& saved, const Case& test, const std::vector<WorkerRows>& rows, const std::string& said) {
  try {
    goOnFrom(saved, test, rows);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), said);
  }
}

constexpr const char* kOtherValuesOf85 =
    "Data differs from the checkpoint's: 85 rows to train on and 16 to validate on as before, but with other values. "
    "Take another checkpointPath, or set resume to \"weights\"";

TEST(Checkpoint, moreEpochsGoOnWhereATrainingEnded) {
  Case test{"adam", optimizer("adam")};
  auto rows = rowsOf(test, 2);
  auto wanted = trainTogether(trainingOf(test, test.epochs), rows);
  expectSame(goOnFrom(checkpointsOf(test, rows, 2).back(), test, rows), wanted);
}

TEST(Checkpoint, aTrainingThatStopsEarlyStopsThereHoweverOftenItIsInterrupted) {
  Case test{
      "stopping",
      R"("earlyStoppingPatience": 2, "earlyStoppingMinDelta": 1000, "monitor": "loss", "restoreBestWeights": true)"};
  test.epochs = 9;
  auto rows = rowsOf(test, 2);
  auto wanted = trainTogether(trainingOf(test, test.epochs), rows);
  ASSERT_EQ(wanted[0].losses.size(), 3u);
  std::vector<Saved> saved = checkpointsOf(test, rows, test.epochs);
  EXPECT_TRUE(saved.back().finished);
  EXPECT_EQ(saved.back().epoch, 4);
  for (size_t i = 1; i < saved.size(); i += 5) {
    SCOPED_TRACE(message("epoch ", saved[i].epoch, ", step ", saved[i].step));
    expectSame(goOnFrom(saved[i], test, rows), wanted);
  }
  expectSame(goOnFrom(saved.back(), test, rows), wanted);
}

TEST(Checkpoint, anotherNumberOfWorkersGoesOnBetweenEpochs) {
  Case test{"adam", optimizer("adam")};
  Saved saved = atEndOf(2, checkpointsOf(test, rowsOf(test, 2), 2));
  WorkerRows all{idRange(0, 50), idRange(900, 11)};
  for (uint64_t id : idRange(100, 35)) all.training.push_back(id);
  for (uint64_t id : idRange(950, 5)) all.validation.push_back(id);
  auto one = goOnFrom(saved, test, {all});
  EXPECT_EQ(one[0].samples, std::vector<int64_t>(4, 85));
  EXPECT_LT(one[0].losses[3], one[0].losses[0]);
  all.training.back() += 7;
  expectRefused(saved, test, {all}, kOtherValuesOf85);
}

TEST(Checkpoint, otherRowsAreRefused) {
  Case test{"adam", optimizer("adam")};
  Saved saved = checkpointsOf(test, rowsOf(test, 1), 2).back();
  expectRefused(saved, test, {{idRange(0, 51), idRange(900, 11)}},
                "Data differs from the checkpoint's: 51 rows to train on and 11 to validate on, were 50 and 11. Take "
                "another checkpointPath, or set resume to \"weights\"");
}

// As many, and with the same ids.
std::vector<WorkerRows> withOneOtherWeight(std::vector<WorkerRows> rows) {
  rows.back().weightOf = [](uint64_t id) { return id % 100 == 33 ? 2.0f : 1.0f; };
  return rows;
}

TEST(Checkpoint, asManyRowsOfOtherValuesAreRefused) {
  Case test{"adam", optimizer("adam")};
  std::vector<WorkerRows> rows = rowsOf(test, 2);
  std::vector<Saved> saved = checkpointsOf(test, rows, 2);
  expectRefused(saved.back(), test, withOneOtherWeight(rows), kOtherValuesOf85);
  // Rows for validation are now trained on, and the other way round.
  std::vector<WorkerRows> exchanged = rows;
  std::swap(exchanged[0].training[3], exchanged[0].validation[3]);
  expectRefused(saved.back(), test, exchanged, kOtherValuesOf85);
}

TEST(Checkpoint, rowsInAnotherOrderAndOnOtherWorkersAreTheSame) {
  Case test{"adam", optimizer("adam")};
  std::vector<WorkerRows> rows = rowsOf(test, 2);
  Saved saved = checkpointsOf(test, rows, 2).back();
  std::swap(rows[0].training[3], rows[1].training[5]);
  std::swap(rows[0].validation[1], rows[0].validation[2]);
  auto results = goOnFrom(saved, test, rows);
  EXPECT_EQ(results[0].losses.size(), 4u);
  EXPECT_EQ(results[0].log, std::vector<std::string>{"Rows are in other places than when the checkpoint was made: "
                                                     "the result is not that of an undisturbed run"});
}

// A source that gives other values each time must not end a fit that lost a worker.
TEST(Checkpoint, aFitThatRecoversIsToldOfOtherValuesAndGoesOn) {
  Case test{"adam", optimizer("adam")};
  std::vector<WorkerRows> rows = rowsOf(test, 2);
  Saved saved = checkpointsOf(test, rows, 2).back();
  for (SavedState& one : saved.byRank) one.recovers = true;
  auto results = goOnFrom(saved, test, withOneOtherWeight(rows));
  EXPECT_EQ(results[0].log,
            std::vector<std::string>{"Rows have other values than when the checkpoint was made: their source does not "
                                     "give the same ones each time, and the result is not that of an undisturbed run"});
  EXPECT_TRUE(results[1].log.empty());
  EXPECT_TRUE(goOnFrom(saved, test, rows)[0].log.empty());
}

TEST(Checkpoint, oneThatDoesNotTellOfContentsIsTaken) {
  Case test{"adam", optimizer("adam")};
  std::vector<WorkerRows> rows = rowsOf(test, 2);
  Saved saved = checkpointsOf(test, rows, 2).back();
  for (SavedState& one : saved.byRank) {
    size_t place = one.shared.find("contents");
    ASSERT_NE(place, std::string::npos);
    one.shared.replace(place, 8, "anything");
  }
  EXPECT_EQ(goOnFrom(saved, test, withOneOtherWeight(rows))[0].losses.size(), 4u);
}

// Whose rows came in another order: an epoch would take some twice and leave others out.
TEST(Checkpoint, oneOfAnotherVersionIsRefused) {
  Case test{"adam", optimizer("adam")};
  Saved saved = checkpointsOf(test, rowsOf(test, 1), 2).front();
  std::string& shared = saved.byRank[0].shared;
  const std::string version = R"(\"version\":2)";
  ASSERT_NE(shared.find(version), std::string::npos);
  shared[shared.find(version) + version.size() - 1] = '1';
  try {
    goOnFrom(saved, test, rowsOf(test, 1));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "Checkpoint is of another version: 1, wanted 2. Take another checkpointPath, or set resume to "
                 "\"weights\"");
  }
}

// Rows that come out of a shuffle once more may lie elsewhere; those for validation are the same ones all the same.
TEST(Checkpoint, rowsOfAShuffleAreKnownByTheirNumbersAlone) {
  auto print = [](const std::string& training, const std::vector<uint64_t>& ids) {
    TaskSpec task = TaskSpec::parse(taskJson(training, 0, 1, R"(, "data": {"unordered": true})"));
    data::RowStore rows(task.rowFormat()), held(task.rowFormat());
    rows.printContents();
    held.printContents();
    for (uint64_t id : ids) (id % 2 == 0 ? rows : held).append(id, 1);
    return RowPrint::of(task, rows, held);
  };
  const std::string share = R"({"validationFraction": 0.5})";
  EXPECT_EQ(print(share, {0, 1, 2}), print(share, {4, 3, 0}));
  EXPECT_NE(print(share, {0, 1, 2}), print(share, {0, 1, 3}));
  EXPECT_NE(print("{}", {0, 1, 2}), print("{}", {4, 3, 0}));
}

TEST(Checkpoint, nothingIsSavedUnlessTheTaskAsksForIt) {
  Case test{"adam", optimizer("adam")};
  Checkpoints checkpoints;
  auto rows = rowsOf(test, 1);
  rows[0].checkpoints = &checkpoints;
  trainTogether(trainingOf(test, 2), rows);
  EXPECT_EQ(checkpoints.slot.await(milliseconds(0)), nullptr);
}

TEST(Checkpoint, onlyTheEndIsSavedWhereNoIntervalIsGiven) {
  Case test{"adam", optimizer("adam")};
  Checkpoints checkpoints;
  auto rows = rowsOf(test, 1);
  rows[0].checkpoints = &checkpoints;
  trainTogether(trainingOf(test, 3), rows, smallNetwork(), R"(, "checkpoint": {})");
  const Snapshot* snapshot = checkpoints.slot.await(milliseconds(0));
  ASSERT_NE(snapshot, nullptr);
  EXPECT_TRUE(snapshot->finished);
  EXPECT_EQ(snapshot->epoch, 4);
}

// Nobody releases the first one before the end of the training: no step waits for it, only the last checkpoint does.
TEST(Checkpoint, trainingDoesNotWaitForAnOwnerThatIsSlow) {
  Case test{"adam", optimizer("adam")};
  Checkpoints checkpoints;
  auto rows = rowsOf(test, 1);
  rows[0].checkpoints = &checkpoints;
  std::thread owner([&] {
    const Snapshot* first = checkpoints.slot.await(milliseconds(5000));
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(std::pair(first->epoch, first->step), std::pair(int64_t{1}, int64_t{1}));
    std::this_thread::sleep_for(milliseconds(300));
    checkpoints.slot.release();
    const Snapshot* last = checkpoints.slot.await(milliseconds(5000));
    ASSERT_NE(last, nullptr);
    EXPECT_TRUE(last->finished);
  });
  EXPECT_EQ(trainTogether(trainingOf(test, 3), rows, smallNetwork(), kEveryStep)[0].samples.size(), 3u);
  owner.join();
}

TEST(Checkpoint, minutesAreCounted) {
  CheckpointClock clock(CheckpointSpec{{}, {}, 0.05 / 60});
  EXPECT_FALSE(clock.isDue());
  std::this_thread::sleep_for(milliseconds(80));
  EXPECT_TRUE(clock.isDue());
  clock.saved();
  EXPECT_FALSE(clock.isDue());
}

TEST(CheckpointSettings, differencesAreNamedWithTheirOldValues) {
  auto settings = [](const std::string& training, const std::string& network = smallNetwork()) {
    std::string text = taskJson(training, 0, 1, "", network);
    return settingsOf(TaskSpec::parse(text), text);
  };
  Json before = settings(R"({"batchSize": 8, "epochs": 2, "optimizer": {"kind": "sgd", "learningRate": 0.1}})");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      differencesOf(settings(R"({"batchSize": 8, "epochs": 9, "optimizer": {"kind": "sgd", "learningRate": 0.1}})"),
                    before),
      Texts());
  EXPECT_EQ(differencesOf(settings(R"({"batchSize": 4, "optimizer": {"kind": "sgd", "learningRate": 0.2}})"), before),
            (Texts{"batchSize 4, was 8", "optimizer.learningRate 0.2, was 0.1"}));
  std::string wider = smallNetwork();
  wider.replace(wider.find("\"units\": 16"), 11, "\"units\": 17");
  EXPECT_EQ(
      differencesOf(settings(R"({"batchSize": 8, "optimizer": {"kind": "sgd", "learningRate": 0.1}})", wider), before),
      Texts{"network.layers[5].units 17, was 16"});
  // Another kind has options of its own: what else differs comes before them.
  Texts other = differencesOf(settings(R"({"batchSize": 8, "optimizer": {"kind": "adam"}, "seed": 5})"), before);
  ASSERT_GT(other.size(), 4u);
  EXPECT_TRUE(other[0].starts_with("seed 5, was ")) << other[0];
  EXPECT_EQ(other[1], R"(optimizer.kind "adam", was "sgd")");
}

struct WrongSpec {
  const char* name;
  const char* section;
  const char* error;
};

class WrongSpecs : public testing::TestWithParam<WrongSpec> {};

TEST_P(WrongSpecs, areRefusedInOneSentence) {
  try {
    TaskSpec::parse(taskJson("{}", 0, 1, message(R"(, "checkpoint": )", GetParam().section)));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), GetParam().error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoint, WrongSpecs,
    testing::Values(
        WrongSpec{"epochsZero", R"({"epochs": 0})", "Not positive: checkpointInterval 0, give at least 1"},
        WrongSpec{"stepsZero", R"({"steps": -1})", "Not positive: checkpointSteps -1, give at least 1"},
        WrongSpec{"minutesZero", R"({"minutes": 0})", "Not positive: checkpointMinutes 0, give minutes above 0"},
        WrongSpec{"unknown", R"({"epoch": 1})", "Unknown option: epoch, nearest known: epochs, in checkpoint"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace bloomery::train
