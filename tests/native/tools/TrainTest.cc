// Runs bloomery-train, the program, on Parquet files.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <csignal>
#include <set>
#include <thread>

#include "base/JsonValue.h"
#include "base/Random.h"
#include "base/TemporaryFolder.h"
#include "checkpoint/Safetensors.h"
#include "data/arrow/Batches.h"
#include "data/arrow/ParquetWriter.h"
#include "network/Graph.h"

namespace bloomery::tools {
namespace {

const char* kNetwork = R"({"name": "spots", "layers": [
  {"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
  {"kind": "Conv2D", "name": "conv", "filters": 8, "kernelSize": 3, "activation": "relu"},
  {"kind": "MaxPool2D", "name": "pool"}, {"kind": "Flatten"},
  {"kind": "Dense", "name": "hidden", "units": 16, "activation": "relu"},
  {"kind": "Dropout", "name": "drop", "rate": 0.1},
  {"kind": "Dense", "name": "classes", "units": 3, "activation": "softmax"}]})";

// Images of 6x6 bytes whose class, one of three, can be learnt: every third pixel is bright, the rest is noise.
std::shared_ptr<arrow::RecordBatch> images(uint64_t first, int64_t count, int32_t wrongLabel = 0) {
  arrow::BinaryBuilder pixels(arrow::system_memory_pool());
  arrow::Int32Builder labels(arrow::system_memory_pool());
  for (uint64_t id = first; id < first + static_cast<uint64_t>(count); ++id) {
    auto label = static_cast<int32_t>(philox(7, id, 0)[0] % 3);
    std::string image(36, '\0');
    for (size_t i = 0; i < image.size(); ++i) {
      image[i] = static_cast<char>(philox(8, id, i)[0] % 100 + (static_cast<int32_t>(i % 3) == label ? 120 : 0));
    }
    check(pixels.Append(image).ok() && labels.Append(label + wrongLabel).ok(), "append");
  }
  auto schema = arrow::schema({arrow::field("image", arrow::binary()), arrow::field("label", arrow::int32())});
  return arrow::RecordBatch::Make(schema, count, {pixels.Finish().ValueOrDie(), labels.Finish().ValueOrDie()});
}

class TrainTest : public testing::Test {
 protected:
  struct Result {
    int exit = 0;
    std::string out, error;
  };

  TrainTest() {
    std::filesystem::create_directory(folder_ / "train");
    data::writeParquet(folder_ / "train/a.parquet", images(0, 300), {.rowsPerGroup = 70});
    data::writeParquet(folder_ / "train/b.parquet", images(300, 200));
    data::writeParquet(folder_ / "test.parquet", images(1000, 120));
    folder_.write("network.json", kNetwork);
  }
  ~TrainTest() override {
    if (process_ > 0) kill(process_, SIGKILL), waitpid(process_, nullptr, 0);
  }

  void start(std::vector<std::string> words) {
    words.insert(words.begin(), BLOOMERY_TRAIN_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (folder_ / "out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (folder_ / "error").c_str(), flags, 0600);
    ASSERT_EQ(posix_spawn(&process_, BLOOMERY_TRAIN_PROGRAM, &files, nullptr, pointers.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  Result end() {
    int status = 0;
    waitpid(std::exchange(process_, 0), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), folder_.read("out"), folder_.read("error")};
  }
  Result run(const std::vector<std::string>& words) {
    start(words);
    return end();
  }
  // With network, data and columns.
  std::vector<std::string> words(std::vector<std::string> more) const {
    std::vector<std::string> all = {
        "--network", folder_ / "network.json", "--data", folder_ / "train", "--features", "image", "--optimizer",
        "adam"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json readJson(const std::string& name) const { return parseJson(folder_.read(name), name); }

  TemporaryFolder folder_;
  pid_t process_ = 0;
};

TEST_F(TrainTest, learnsAndLeavesHistoryWeightsProfileAndTrace) {
  Result result = run(words({"--validation", folder_ / "test.parquet", "--learning-rate", "0.01", "--metrics",
                             "accuracy", "--batch", "32", "--epochs", "6", "--save", folder_ / "w.safetensors",
                             "--history", folder_ / "history.json", "--profile", "--trace", folder_ / "trace.json"}));
  ASSERT_EQ(result.exit, 0) << result.error;
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out.find("read 620 rows of 3 files  "), 0u) << result.out;
  EXPECT_NE(result.out.find("\nepoch 6/6  loss 0."), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  validation accuracy "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" samples/s  "), std::string::npos) << result.out;

  Json history = readJson("history.json");
  ASSERT_EQ(history.size(), 6u);
  EXPECT_EQ(history[0].at("samples"), 500);
  EXPECT_LT(history[5].at("loss").get<double>(), history[0].at("loss").get<double>() / 2);
  EXPECT_GT(history[5].at("validation").at("metrics").at("accuracy").get<double>(), 0.95);

  network::Graph graph = network::Graph::fromJson(parseJson(kNetwork, "network"));
  ArenaLayout layout = graph.parameters().layout();
  Arena parameters(layout);
  std::string weights = folder_.read("w.safetensors");
  checkpoint::readSafetensors(std::as_bytes(std::span(weights)), layout, parameters);

  for (const char* layer : {"conv", "pool", "hidden", "drop", "classes", "loss", "optimizer", "allreduce",
                            "wait for data", "other", "total: "}) {
    EXPECT_NE(result.out.find(message("\n", layer)), std::string::npos) << layer << "\n" << result.out;
  }

  std::set<std::string> names, threads;
  Json trace = readJson("trace.json");
  for (const Json& event : trace.at("traceEvents")) {
    names.insert(event.at("name").get<std::string>());
    if (event.at("name") == "thread_name") threads.insert(event.at("args").at("name").get<std::string>());
    EXPECT_TRUE(event.at("ph") == "M" || event.at("dur").get<int64_t>() >= 0) << event.dump();
  }
  EXPECT_EQ(threads, (std::set<std::string>{"ingest", "compute", "prefetch"}));
  for (const char* name :
       {"forward", "loss", "backward", "optimizer", "assemble", "conv forward", "conv backward", "classes backward"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST_F(TrainTest, sameSeedSameBitsAndWeightsGoOnFromAFile) {
  auto train = [&](const std::string& to, std::vector<std::string> more) {
    more.insert(more.end(), {"--save", folder_ / to, "--batch", "50", "--history", folder_ / "history.json"});
    Result result = run(words(more));
    EXPECT_EQ(result.exit, 0) << result.error;
    return folder_.read(to);
  };
  std::string first = train("a", {"--seed", "3", "--epochs", "3"});
  EXPECT_EQ(first, train("b", {"--seed", "3", "--epochs", "3"}));
  EXPECT_NE(first, train("c", {"--seed", "4", "--epochs", "3"}));
  double before = readJson("history.json").back().at("loss").get<double>();
  train("d", {"--weights", folder_ / "c", "--epochs", "2"});
  EXPECT_LT(readJson("history.json").back().at("loss").get<double>(), before);
}

TEST_F(TrainTest, aKilledTrainingGoesOnFromItsCheckpoint) {
  auto options = [&](const std::string& save, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--batch", "5", "--epochs", "40", "--seed", "3", "--save", folder_ / save, "--history",
                             folder_ / (save + ".json")});
    return words(more);
  };
  ASSERT_EQ(run(options("whole")).exit, 0);
  std::vector<std::string> saving = {"--checkpoint", folder_ / "state", "--checkpoint-steps", "30"};
  start(options("killed", saving));
  while (!std::filesystem::exists(folder_ / "state")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(process_, SIGKILL);
  EXPECT_EQ(end().exit, -SIGKILL);
  Result result = run(options("resumed", saving));
  ASSERT_EQ(result.exit, 0) << result.error;
  EXPECT_EQ(folder_.read("resumed"), folder_.read("whole"));
  EXPECT_EQ(readJson("resumed.json").size(), 40u);
  Result other = run(options("other", {"--checkpoint", folder_ / "state", "--learning-rate", "0.5"}));
  EXPECT_EQ(other.exit, 1);
  EXPECT_NE(other.error.find("optimizer.learningRate 0.5, was 0.001"), std::string::npos) << other.error;
}

TEST_F(TrainTest, describesWithoutData) {
  Result result = run({"--network", folder_ / "network.json", "--describe"});
  EXPECT_EQ(result.exit, 0) << result.error;
  EXPECT_EQ(result.out.find("Network: \"spots\"\n"), 0u) << result.out;
  EXPECT_NE(result.out.find("hidden (Dense)"), std::string::npos);
  EXPECT_NE(result.out.find("Memory: "), std::string::npos);
}

TEST_F(TrainTest, describesTheLargestBatchOfABudget) {
  Result result = run({"--network", folder_ / "network.json", "--describe", "--memory-budget", "20000000"});
  EXPECT_EQ(result.exit, 0) << result.error;
  size_t found = result.out.find("Largest batch within the budget: ");
  ASSERT_NE(found, std::string::npos) << result.out;
  EXPECT_GT(std::stoi(result.out.substr(found + 33)), 100);

  result = run({"--network", folder_ / "network.json", "--describe", "--memory-budget", "0"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_NE(result.error.find("memoryBudget"), std::string::npos) << result.error;
}

TEST_F(TrainTest, helpTellsEveryOption) {
  Result result = run({"--help"});
  EXPECT_EQ(result.exit, 0);
  for (const char* option : {"--network", "--data", "--task", "--trace", "--describe"}) {
    EXPECT_NE(result.out.find(option), std::string::npos) << option;
  }
}

TEST_F(TrainTest, aDumpedTaskTrains) {
  folder_.write("task.json", message("{\"network\": ", kNetwork,
                                     R"(, "training": {"batchSize": 25, "optimizer": "sgd"},
                                         "worker": {"rank": 1, "size": 2},
                                         "columns": {"features": "image", "label": "label"}})"));
  Result result = run(
      {"--task", folder_ / "task.json", "--data", folder_ / "train/b.parquet", "--history", folder_ / "history.json"});
  EXPECT_EQ(result.exit, 0) << result.error;
  EXPECT_EQ(readJson("history.json").at(0).at("steps"), 8);
}

TEST_F(TrainTest, signalsCancelCleanly) {
  for (int signal : {SIGINT, SIGTERM}) {
    start(words({"--epochs", "1000000", "--history", folder_ / "history.json", "--trace", folder_ / "trace.json"}));
    while (!std::filesystem::exists(folder_ / "history.json")) {
      ASSERT_EQ(waitpid(process_, nullptr, WNOHANG), 0) << folder_.read("error");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    auto sent = std::chrono::steady_clock::now();
    kill(process_, signal);
    Result result = end();
    EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(5));
    EXPECT_EQ(result.exit, 128 + signal);
    EXPECT_EQ(result.error, "Training was cancelled\n");
    EXPECT_GT(readJson("trace.json").at("traceEvents").size(), 0u);
    EXPECT_GT(readJson("history.json").size(), 0u);
    std::filesystem::remove(folder_ / "history.json");
  }
}

TEST_F(TrainTest, whatIsWrongIsOneSentence) {
  data::writeParquet(folder_ / "label.parquet", images(0, 10, 1));
  data::writeParquet(folder_ / "none.parquet", images(0, 0));
  std::string cut = folder_.write("cut.parquet", folder_.read("test.parquet").substr(0, 900));
  folder_.write("bad.json", "{\"layers\": ");
  folder_.write("empty.safetensors", "");
  std::string broken = folder_.write("broken.safetensors", "not weights at all");
  struct Case {
    std::vector<std::string> words;
    std::string error;
  };
  std::string at = folder_.path() + "/";
  for (const Case& one : std::vector<Case>{
           {words({"--data", at + "nowhere"}), "File or folder does not exist: " + at + "nowhere"},
           {words({"--data", at + "cut.parquet"}),
            "Not a readable Parquet file; write it again or remove it: " + cut + ": "},
           {words({"--data", at + "none.parquet"}), "No rows to train on: " + at + "none.parquet"},
           {words({"--features", "images"}),
            "Unknown column: images, nearest known: image, file " + at + "train/a.parquet"},
           {words({"--features", "label"}),
            "Wrong length of column 'label': 1 value a row, wanted 36 for shape (6, 6, 1) of uint8, file " + at +
                "train/a.parquet"},
           {words({"--data", at + "label.parquet"}), "Label out of range: 3, classes: 3, column 'label', row "},
           {words({"--network", at + "bad.json"}), "Not valid JSON: " + at + "bad.json, byte "},
           {words({"--network", at + "absent.json"}), "Cannot read file: " + at + "absent.json"},
           {words({"--optimizer", "adamm"}), "Unknown optimizer: adamm, nearest known: adam"},
           {words({"--epochs", "0"}), "Not positive: epochs 0, give at least 1"},
           {words({"--save", at + "no/such/folder"}), "Cannot write file: " + at + "no/such/folder"},
           {words({"--weights", at + "empty.safetensors"}), "File is empty: " + at + "empty.safetensors"},
           {words({"--weights", broken}), ", file " + broken},
       }) {
    Result result = run(one.words);
    EXPECT_EQ(result.exit, 1) << one.error;
    EXPECT_NE(result.error.find(one.error), std::string::npos) << result.error << "wanted: " << one.error;
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
  }
  Result labels = run(words({"--data", at + "label.parquet"}));
  EXPECT_NE(labels.error.find(" of partition 0; "), std::string::npos) << labels.error;
  EXPECT_TRUE(labels.error.ends_with(", file " + at + "label.parquet\n")) << labels.error;
}

TEST_F(TrainTest, aWrongOptionPointsToTheHelp) {
  Result result = run({"--netwrk", "x"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(result.error,
            "Unknown option: --netwrk, nearest known: --network\nbloomery-train --help tells all options\n");
  EXPECT_EQ(run({"--network", folder_ / "network.json"}).error,
            "Missing option: --data PATH\nbloomery-train --help tells all options\n");
}

}  // namespace
}  // namespace bloomery::tools
