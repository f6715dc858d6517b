// Trainings in which steps touch few rows of a table give the bits of trainings that go over all of it.
#include <gtest/gtest.h>

#include <limits>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

constexpr int64_t kWhole = std::numeric_limits<int64_t>::max();

// Pixels as words of a vocabulary; `options` are for the table.
std::string wordNetwork(const std::string& options = "", const std::string& between = "") {
  return message(R"({"name": "words", "layers": [{"kind": "Input", "shape": [6], "dtype": "uint8"},
    {"kind": "Embedding", "inputDim": 400, "outputDim": 5)",
                 options, R"(}, {"kind": "Flatten"}, )", between,
                 R"({"kind": "Dense", "units": 3, "activation": "softmax"}]})");
}

// The table used twice, and so that its first use comes last in backward.
std::string sharedNetwork() {
  return R"({"name": "shared", "layers": [{"kind": "Input", "name": "in", "shape": [6], "dtype": "uint8"},
    {"kind": "Embedding", "name": "words", "inputDim": 400, "outputDim": 5},
    {"kind": "Dense", "units": 5, "activation": "tanh", "name": "between"},
    {"kind": "Embedding", "name": "again", "sharedWith": "words", "inputDim": 400, "outputDim": 5, "inputs": ["in"]},
    {"kind": "Add", "inputs": ["between", "again"]}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

const char* const kSynchronized = R"({"kind": "BatchNormalization", "synchronized": true}, )";

struct Case {
  const char* name;
  const char* options;                // of the training
  std::vector<uint64_t> rows = {40};  // by worker
  std::string network = wordNetwork();
};

class SparseGradient : public testing::TestWithParam<Case> {};

std::vector<WorkerResult> train(const Case& test, int64_t sparseFloats) {
  std::vector<WorkerRows> rows;
  for (uint64_t count : test.rows) {
    rows.push_back({idRange(1000 * rows.size(), count), idRange(500000 + 1000 * rows.size(), 5)});
    rows.back().sparseFloats = sparseFloats;
  }
  std::string training = message(R"({"epochs": 3, "batchSize": 4, "seed": 9, )", test.options, "}");
  return trainTogether(training, rows, test.network);
}

TEST_P(SparseGradient, trainsToTheBitsOfAWholeOne) {
  auto sparse = train(GetParam(), 0), dense = train(GetParam(), kWhole);
  for (size_t rank = 0; rank < sparse.size(); ++rank) {
    EXPECT_EQ(sparse[rank].parameters, dense[rank].parameters) << "rank " << rank;
    EXPECT_EQ(sparse[rank].losses, dense[rank].losses) << "rank " << rank;
    EXPECT_EQ(sparse[rank].lastEpoch.at("validation"), dense[rank].lastEpoch.at("validation"));
  }
  EXPECT_NE(sparse[0].losses.front(), sparse[0].losses.back());
}

const char* const kSgd = R"("optimizer": {"kind": "sgd", "learningRate": 0.5})";

INSTANTIATE_TEST_SUITE_P(
    Ways, SparseGradient,
    testing::Values(
        Case{"sgd", kSgd}, Case{"momentum", R"("optimizer": {"kind": "sgd", "learningRate": 0.1, "momentum": 0.9})"},
        Case{"adam", R"("optimizer": {"kind": "adam", "learningRate": 0.01})"},
        Case{"adagrad", R"("optimizer": {"kind": "adagrad", "learningRate": 0.1})"},
        Case{"lamb", R"("optimizer": "lamb")"},
        Case{"decay", R"("optimizer": {"kind": "sgd", "learningRate": 0.1, "weightDecay": 0.01})"},
        Case{"clippedNorm", R"("clipNorm": 0.1, "optimizer": {"kind": "sgd", "learningRate": 0.5})"},
        Case{"clippedValues", R"("clipValue": 0.01, "optimizer": {"kind": "sgd", "learningRate": 0.5})"},
        Case{"averaged", R"("emaMomentum": 0.9, "optimizer": {"kind": "sgd", "learningRate": 0.5})"},
        Case{"passes", R"("backwardPassesPerStep": 3, "optimizer": {"kind": "sgd", "learningRate": 0.5})"},
        Case{"passesAdam", R"("backwardPassesPerStep": 3, "optimizer": "adam")"},
        Case{"regularised", kSgd, {40}, wordNetwork(R"(, "embeddingsRegularizer": {"l1": 0.001, "l2": 0.01})")},
        Case{"frozen", kSgd, {40}, wordNetwork(R"(, "trainable": false)")},
        Case{"usedTwice", kSgd, {40}, sharedNetwork()},
        Case{"usedTwicePasses", R"("backwardPassesPerStep": 2, "optimizer": "adagrad")", {40}, sharedNetwork()},
        Case{"twoWorkers", kSgd, {40, 23}}, Case{"twoWorkersAdam", R"("optimizer": "adam")", {40, 23}},
        Case{"oneWithoutRows", kSgd, {0, 23}},
        Case{"twoWorkersPasses",
             R"("backwardPassesPerStep": 3, "optimizer": {"kind": "sgd", "learningRate": 0.5})",
             {40, 5}},
        Case{"twoWorkersUsedTwice", kSgd, {40, 23}, sharedNetwork()},
        Case{"synchronized", kSgd, {40, 0}, wordNetwork("", kSynchronized)}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SparseSlices, areTrainedTablesOfSomeSizeThatNobodyPullsAt) {
  auto slicesOf = [](const std::string& options, int64_t fewest) {
    return sparseSlices(TaskSpec::parse(taskJson("{}", 0, 1, "", wordNetwork(options))).graph.parameters(), fewest);
  };
  EXPECT_EQ(slicesOf("", 2000), std::vector<size_t>{0});
  EXPECT_EQ(slicesOf("", 2001), std::vector<size_t>{});
  EXPECT_EQ(slicesOf(R"(, "trainable": false)", 0), std::vector<size_t>{});
  EXPECT_EQ(slicesOf(R"(, "embeddingsRegularizer": {"l2": 0.1})", 0), std::vector<size_t>{});
}

}  // namespace
}  // namespace bloomery::train
