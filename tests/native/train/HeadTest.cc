#include "train/Head.h"

#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "train/Columns.h"
#include "train/Objective.h"

namespace bloomery::train {
namespace {

using network::Function;

const std::vector<network::Output> kOne = {{.name = "out", .shape = {3}, .tail = Function::kSoftmax}};
const std::vector<network::Output> kLogits = {{.name = "out", .shape = {3}, .tail = Function::kLinear}};
const std::vector<network::Output> kTwo = {{.name = "species", .shape = {3}, .tail = Function::kSoftmax},
                                           {.name = "height", .shape = {1}, .tail = Function::kLinear}};

std::vector<Head> read(const std::string& text, const std::vector<network::Output>& outputs) {
  Json json = Json::parse(text);
  JsonReader reader(json, "training");
  auto heads = readHeads(reader, outputs);
  reader.finish();
  return heads;
}

TEST(Head, oneOutputTakesOptionsAsTheyAre) {
  Head head = read(R"({"loss": {"kind": "categorical_crossentropy", "labelSmoothing": 0.1}, "metrics": ["accuracy",
                       "recall"], "classWeights": {"0": 2, "2": 0.5}})",
                   kOne)[0];
  EXPECT_EQ(std::get<nn::CategoricalCrossentropy>(head.loss).labelSmoothing, 0.1);
  EXPECT_EQ(head.classWeights, (std::vector<float>{2, 1, 0.5}));
  EXPECT_EQ(metricNames({head}), (std::vector<std::string>{"accuracy", "recall"}));
  EXPECT_EQ(read(R"({"classWeights": [1, 2, 3]})", kOne)[0].classWeights, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(
      read(R"({"loss": {"out": "mse"}, "metrics": {"out": ["mae"]}, "lossWeights": {"out": 3}})", kOne)[0].lossWeight,
      3);
}

TEST(Head, severalOutputsTakeOptionsByName) {
  auto heads = read(R"({"loss": {"height": "huber", "species": "sparse_categorical_crossentropy"},
                        "lossWeights": {"height": 0.25}, "classWeights": {"species": {"1": 4}},
                        "metrics": {"species": ["accuracy"], "height": ["mae", "r2"]}})",
                    kTwo);
  EXPECT_EQ(nn::nameOf(heads[0].loss), "sparse_categorical_crossentropy");
  EXPECT_EQ(nn::nameOf(heads[1].loss), "huber");
  EXPECT_EQ(heads[0].lossWeight, 1);
  EXPECT_EQ(heads[1].lossWeight, 0.25);
  EXPECT_EQ(heads[0].classWeights, (std::vector<float>{1, 4, 1}));
  EXPECT_TRUE(heads[1].classWeights.empty());
  EXPECT_EQ(metricNames(heads),
            (std::vector<std::string>{"species_loss", "height_loss", "species_accuracy", "height_mae", "height_r2"}));
  Json json;
  writeHeads(heads, json);
  auto again = read(json.dump(), kTwo);
  Json second;
  writeHeads(again, second);
  EXPECT_EQ(json, second);
  EXPECT_EQ(read(R"({"loss": "mse", "lossWeights": [1, 2], "metrics": ["mse"]})", kTwo)[1].lossWeight, 2);
}

TEST(Head, outputMayHaveTheNameOfAnOption) {
  std::vector<network::Output> outputs = kTwo;
  outputs[0].name = "kind";
  auto heads = read(R"({"loss": {"kind": "sparse_categorical_crossentropy", "height": "mse"}})", outputs);
  EXPECT_EQ(nn::nameOf(heads[0].loss), "sparse_categorical_crossentropy");
  EXPECT_EQ(nn::nameOf(heads[1].loss), "mean_squared_error");
  heads = read(R"({"loss": {"kind": "huber", "delta": 2.0}})", outputs);
  EXPECT_EQ(nn::nameOf(heads[0].loss), "huber");
  EXPECT_EQ(nn::nameOf(heads[1].loss), "huber");
}

TEST(Head, accuracyIsTheMetricOfOutputsThatDecide) {
  auto heads = read(R"({"loss": {"species": "categorical_crossentropy", "height": "mse"}, "metrics": {}})", kTwo);
  EXPECT_TRUE(heads[0].metrics.empty());
  heads = read(R"({"loss": "mse"})", kTwo);
  EXPECT_EQ(heads[0].metrics.size(), 1u);
  EXPECT_TRUE(heads[1].metrics.empty());
}

TEST(Head, targetsAreWhatTheLossTakes) {
  data::TargetRule rule = read("{}", kOne)[0].targetRule();
  EXPECT_TRUE(rule.takesClass && rule.takesValues && rule.probabilities);
  rule = read(R"({"loss": "sparse_categorical_crossentropy"})", kOne)[0].targetRule();
  EXPECT_TRUE(rule.takesClass && !rule.takesValues);
  rule = read(R"({"loss": "mse"})", kTwo)[1].targetRule();
  EXPECT_TRUE(!rule.takesClass && rule.takesValues && !rule.probabilities);
  EXPECT_TRUE(read(R"({"loss": "mse"})", kOne)[0].targetFormat().isClass);
  EXPECT_FALSE(read(R"({"loss": "mse"})", kTwo)[1].targetFormat().isClass);
}

TEST(Head, wrongOptionsAreRefusedInOneSentence) {
  struct {
    const char* training;
    const std::vector<network::Output>& outputs;
    std::string error;
  } cases[] = {
      {R"({"loss": {"kind": "mse"}})", kTwo, ""},
      {R"({"loss": {"height": "mse"}})", kTwo, "No loss for output: species, give each of them one: species, height"},
      {R"({"loss": {"hight": "mse"}})", kTwo, "Unknown output: hight, nearest known: height, in loss"},
      {R"({})", kTwo,
       "Loss categorical_crossentropy needs at least two classes: layer 'height' gives (1,), use binary_crossentropy "
       "with a sigmoid, or mean_squared_error for a value"},
      {R"({})", kLogits,
       "Loss categorical_crossentropy needs a softmax output: set activation=\"softmax\" on layer 'out', or "
       "fromLogits on the loss"},
      {R"({"loss": "mse", "lossWeights": [1]})", kTwo, "Wrong number of lossWeights: 1, outputs: 2"},
      {R"({"loss": "mse", "lossWeights": {"height": -1}})", kTwo, "Not a finite number of at least 0: loss weight -1"},
      {R"({"loss": "mse", "lossWeights": 2})", kTwo,
       "Wrong value for lossWeights: 2, wanted {output: weight} or a list"},
      {R"({"loss": "mse", "classWeights": {"0": 1}})", kTwo,
       "Class weights of several outputs are given by output: species, height"},
      {R"({"classWeights": {"3": 1}})", kOne, "Class out of range: 3, classes: 3, in classWeights"},
      {R"({"classWeights": {"cat": 1}})", kOne, "Class out of range: cat, classes: 3, in classWeights"},
      {R"({"classWeights": [1, 2]})", kOne, "Wrong number of classWeights: 2, classes: 3"},
      {R"({"classWeights": {"1": 1e39}})", kOne, "Not a finite number of at least 0: class weight 1e+39"},
      {R"({"classWeights": {"1": "two"}})", kOne, "Not a finite number of at least 0: class weight \"two\""},
      {R"({"metrics": "accuracy"})", kOne,
       "Wrong value for metrics of training: \"accuracy\", wanted a list, or {output: list}"},
      {R"({"metrics": ["accuracy", "accuracy"]})", kOne, "Two metrics have the same name: accuracy"},
      {R"({"loss": "mse", "metrics": {"height": ["accuracy"]}})", kTwo,
       "Metric accuracy needs a softmax or sigmoid output, layer 'height' is linear: use mae, mse, rmse or r2"},
  };
  for (const auto& one : cases) {
    std::string error;
    try {
      read(one.training, one.outputs);
    } catch (const UserError& caught) {
      error = caught.what();
    }
    EXPECT_EQ(error, one.error) << one.training;
  }
}

data::IngestColumns columns(const char* text, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  Json json = text == nullptr ? Json() : Json::parse(text);
  return readColumns(text == nullptr ? nullptr : &json, inputs, outputs);
}

using Names = std::vector<std::string>;

TEST(Columns, areNamedForOneOrForSeveral) {
  EXPECT_EQ(columns(nullptr, {"in"}, {"out"}).featureNames(), Names{"features"});
  EXPECT_EQ(columns(nullptr, {"in"}, {"out"}).targets, std::vector<data::TargetColumns>{"label"});
  EXPECT_EQ(columns(R"({"features": "x", "weight": "w"})", {"in"}, {"out"}).featureNames(), Names{"x"});
  EXPECT_TRUE(columns(R"({"features": "x"})", {"in"}, {"out"}).targets.empty());
  auto both =
      columns(R"({"inputs": {"b": "y", "a": "x"}, "labels": {"c": "z"}, "validation": "v"})", {"a", "b"}, {"c"});
  EXPECT_EQ(both.featureNames(), (Names{"x", "y"}));
  EXPECT_EQ(both.targets, std::vector<data::TargetColumns>{"z"});
  EXPECT_EQ(both.validation, "v");
  EXPECT_EQ(columns(nullptr, {"a", "b"}, {"c", "d"}).featureNames(), (Names{"a", "b"}));
  EXPECT_TRUE(columns(nullptr, {"a", "b"}, {"c", "d"}).targets.empty());
}

TEST(Columns, wrongNamesAreRefusedInOneSentence) {
  struct {
    const char* json;
    std::string error;
  } cases[] = {
      {R"({"features": "x"})", "Network has 2 inputs: give columns.inputs instead of columns.features"},
      {R"({"label": "y"})", "Network has 2 outputs: give columns.labels instead of columns.label"},
      {R"({"inputs": {"left": "x"}})", "No column for input: right, in columns.inputs"},
      {R"({"inputs": {"lefd": "x", "right": "y"}})", "Unknown input: lefd, nearest known: left, in columns.inputs"},
      {R"({"features": "x", "inputs": {}})", "Both features and inputs are set: keep one"},
      {R"({"labelz": {}})", "Unknown option: labelz, nearest known: label, in columns"},
  };
  for (const auto& one : cases) {
    std::string error;
    try {
      columns(one.json, {"left", "right"}, {"up", "down"});
    } catch (const UserError& caught) {
      error = caught.what();
    }
    EXPECT_EQ(error, one.error) << one.json;
  }
}

}  // namespace
}  // namespace bloomery::train
