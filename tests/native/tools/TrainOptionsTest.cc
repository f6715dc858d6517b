#include "tools/TrainOptions.h"

#include <gtest/gtest.h>

#include "base/JsonValue.h"
#include "base/TemporaryFolder.h"
#include "train/TaskSpec.h"

namespace bloomery::tools {
namespace {

const char* kNetwork = R"({"layers": [{"kind": "Input", "shape": [2]}, {"kind": "Dense", "units": 3,
                           "activation": "softmax"}]})";
const char* kTwo = R"({"layers": [
  {"kind": "Input", "name": "left", "shape": [2]}, {"kind": "Input", "name": "right", "shape": [2]},
  {"kind": "Add", "name": "sum", "inputs": ["left", "right"]},
  {"kind": "Dense", "name": "a", "units": 1, "inputs": ["sum"]},
  {"kind": "Dense", "name": "b", "units": 1, "inputs": ["sum"]}], "outputs": ["a", "b"]})";

TrainOptions parse(std::vector<std::string> words) {
  std::vector<const char*> pointers = {"bloomery-train"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return TrainOptions::parse(static_cast<int>(pointers.size()), pointers.data());
}

Json taskOf(const std::vector<std::string>& words) { return parseJson(tools::taskOf(parse(words)), "task"); }

TEST(TrainOptions, onlyWhatWasGivenIsPassedOn) {
  Json task = taskOf({"--network", kNetwork, "--data", "x"});
  EXPECT_EQ(task.at("training"), Json::object());
  EXPECT_EQ(task.at("worker"), Json::object());
  EXPECT_FALSE(task.contains("columns"));
}

TEST(TrainOptions, limitTheMemoryOfRows) {
  Json task = taskOf({"--network", kNetwork, "--data-memory", "1000", "--spill-folder", "/a,/b"});
  EXPECT_EQ(task.at("data"), (Json{{"memory", 1000}, {"folders", {"/a", "/b"}}}));
  EXPECT_EQ(train::TaskSpec::parse(task.dump()).rows.memory, 1000);
}

TEST(TrainOptions, becomeTheKeysOfATask) {
  Json task = taskOf({"--network",
                      kNetwork,
                      "--features=image",
                      "--weight",
                      "w",
                      "--optimizer",
                      "sgd",
                      "--learning-rate",
                      "0.5",
                      "--loss",
                      "categorical_crossentropy",
                      "--metrics",
                      "accuracy,f1",
                      "--batch",
                      "96",
                      "--epochs=3",
                      "--threads",
                      "2",
                      "--seed",
                      "7",
                      "--validation",
                      "there"});
  Json training = {{"optimizer", {{"kind", "sgd"}, {"learningRate", 0.5}}},
                   {"loss", "categorical_crossentropy"},
                   {"metrics", {"accuracy", "f1"}},
                   {"batchSize", 96},
                   {"epochs", 3},
                   {"seed", 7}};
  EXPECT_EQ(task.at("training"), training);
  EXPECT_EQ(task.at("worker"), Json({{"threads", 2}}));
  EXPECT_EQ(task.at("columns"),
            Json({{"features", "image"}, {"label", "label"}, {"weight", "w"}, {"validation", "--validation"}}));
  train::TaskSpec::parse(task.dump());
}

TEST(TrainOptions, columnsOfSeveralInputsAndOutputsGoByTheirOrder) {
  Json task = taskOf({"--network", kTwo, "--features", "l,r", "--labels", "p,q", "--loss", "mse"});
  EXPECT_EQ(task.at("columns"),
            Json({{"inputs", {{"left", "l"}, {"right", "r"}}}, {"labels", {{"a", "p"}, {"b", "q"}}}}));
  train::TaskSpec::parse(task.dump());
}

TEST(TrainOptions, changePartsOfADumpedTask) {
  TemporaryFolder folder;
  std::string path = folder.write(
      "task.json",
      message("{\"network\": ", kNetwork,
              R"(, "training": {"globalBatchSize": 64, "epochs": 5, "optimizer": {"kind": "adam", "beta1": 0.8}},
                               "worker": {"rank": 1, "size": 2, "threads": 3, "host": "10.0.0.1"},
                               "columns": {"features": "x", "label": "y"}})"));
  Json same = taskOf({"--task", path});
  EXPECT_EQ(same.at("training").at("globalBatchSize"), 64);
  EXPECT_EQ(same.at("worker"), Json({{"threads", 3}}));
  Json changed = taskOf({"--task", path, "--batch", "16", "--learning-rate", "0.1", "--labels", "z"});
  EXPECT_EQ(changed.at("training"), Json({{"epochs", 5},
                                          {"optimizer", {{"kind", "adam"}, {"beta1", 0.8}, {"learningRate", 0.1}}},
                                          {"batchSize", 16}}));
  EXPECT_EQ(changed.at("columns"), Json({{"features", "x"}, {"label", "z"}}));
}

TEST(TrainOptions, validationRowsComeFromOnePlace) {
  TemporaryFolder folder;
  auto taskWith = [&](const std::string& validation) {
    return folder.write("task.json",
                        message("{\"network\": ", kNetwork, R"(, "columns": {"validation": ")", validation, "\"}}"));
  };
  EXPECT_EQ(taskOf({"--task", taskWith(""), "--validation", "there"}).at("columns"),
            Json({{"validation", "--validation"}, {"label", "label"}}));
  try {
    taskOf({"--task", taskWith("isTest"), "--validation", "there"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Both --validation and columns.validation of the task are set: keep one");
  }
}

TEST(TrainOptions, aLearningRateAloneIsThatOfTheDefaultOptimizer) {
  Json task = taskOf({"--network", kNetwork, "--learning-rate", R"({"kind": "step", "everySteps": 5})"});
  EXPECT_EQ(task.at("training").at("optimizer"),
            Json({{"kind", "adam"}, {"learningRate", {{"kind", "step"}, {"everySteps", 5}}}}));
}

TEST(TrainOptions, aCommandLineThatCannotBeMeantIsRefused) {
  struct Case {
    std::vector<std::string> words;
    const char* error;
  };
  for (const Case& one : std::vector<Case>{
           {{"--netwrk", "x"}, "Unknown option: --netwrk, nearest known: --network"},
           {{"train.parquet"}, "Unknown option: train.parquet, known: "},
           {{"--data"}, "Option without a value: --data PATH"},
           {{"--data="}, "Option without a value: --data PATH"},
           {{"--profile=yes"}, "Option takes no value: --profile"},
           {{"--epochs", "ten"}, "Not a whole number: --epochs ten"},
           {{"--epochs", "1.5"}, "Not a whole number: --epochs 1.5"},
           {{"--data", "x"}, "Missing option: --network FILE, or --task FILE"},
           {{"--network", kNetwork, "--learning-rate", "fast"}, "Not a number: --learning-rate fast"},
           {{"--network", kTwo, "--features", "l"}, "Not one column for each input: --features l, inputs: left, right"},
           {{"--network", kNetwork, "--labels", "p,q"}, "Not one column for each output: --labels p,q, outputs: dense"},
       }) {
    try {
      tools::taskOf(parse(one.words));
      ADD_FAILURE() << one.error;
    } catch (const OptionError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, std::string(one.error).size()), one.error);
    }
  }
}

TEST(TrainOptions, usageTellsTheDefaultsOfTheTask) {
  std::string usage = TrainOptions::usage();
  EXPECT_NE(usage.find(message("rows of a step (", train::TrainSpec().batchSize, ")")), std::string::npos) << usage;
  EXPECT_NE(usage.find("(adam)"), std::string::npos) << usage;
}

}  // namespace
}  // namespace bloomery::tools
