// Tasks that are nearly right: whatever a spoiled text says, the driver gets a description or a UserError, and a
// network that was accepted can be trained.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/Error.h"
#include "base/JsonMutator.h"
#include "golden/Fixture.h"
#include "network/Networks.h"
#include "nn/Plan.h"
#include "train/ComputeThreads.h"
#include "train/Describe.h"
#include "train/TaskSpec.h"

namespace bloomery::train {
namespace {

// One step on rows of zeros.
void trainOnZeros(const TaskSpec& task) {
  const network::Graph& graph = task.graph;
  int64_t batchSize = task.training.batchSizeOf(task.worker.rank, task.worker.size);
  ArenaLayout layout = graph.parameters().layout();
  Arena parameters(layout), gradients(layout);
  graph.parameters().initialize(1, parameters);
  auto plan = nn::makeDnnlPlan(graph, parameters, &gradients, {batchSize, true, 1});
  std::vector<std::vector<float>> inputs;
  std::vector<const float*> pointers;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    inputs.emplace_back(static_cast<size_t>(batchSize * graph.input(i).shape.numElements()));
  }
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<uint64_t> rowIds(static_cast<size_t>(batchSize));
  plan->forward({pointers, rowIds, batchSize, 1}, nn::Mode::kTraining);
  for (size_t i = 0; i < graph.outputs().size(); ++i) std::ranges::fill(plan->logitGradients(i).span(), 1e-3f);
  NoGradientSink sink;
  plan->backward(sink);
}

struct Source {
  const char* network;
  const char* training;
  uint64_t rounds;
};

class TaskFuzz : public testing::TestWithParam<Source> {};

TEST_P(TaskFuzz, spoiledTasksAreUserErrorsOrTrain) {
  constexpr int64_t kSmall = 64 << 20;
  setComputeThreads(1);
  Json golden = {{"network", golden::load(message("networks/", GetParam().network, ".json"))},
                 {"training", Json::parse(GetParam().training)},
                 {"worker", {{"rank", 0}, {"size", 2}, {"threads", 1}}}};
  ASSERT_NO_THROW(describe(golden.dump()));
  uint64_t accepted = 0, trained = 0;
  for (uint64_t round = 0; round < GetParam().rounds; ++round) {
    JsonMutator mutator(round);
    std::string text;
    if (mutator.below(3) == 0) {  // the network is so much larger that the rest would hardly ever be hit
      Json task = golden, rest = golden;
      rest.erase("network");
      rest = Json::parse(mutator.mutated(rest), nullptr, false);
      if (!rest.is_object()) continue;
      task.update(rest);
      text = task.dump();
    } else {
      text = mutator.mutated(golden);
    }
    SCOPED_TRACE(round);
    try {
      Json result = Json::parse(describe(text));
      ++accepted;
      EXPECT_GT(result["memory"]["total"].get<int64_t>(), 0);
      if (result["memory"]["total"] > kSmall) continue;
      trainOnZeros(TaskSpec::parse(text));
      ++trained;
    } catch (const UserError&) {
    } catch (const ResourceError&) {
    } catch (const std::exception& error) {
      FAIL() << error.what() << ", " << text;
    }
  }
  EXPECT_GT(accepted, GetParam().rounds / 50);
  EXPECT_GT(trained, GetParam().rounds / 100);
}

constexpr const char* kTwoHeads = R"({"loss": {"scores": "categorical_crossentropy", "dense": "mse"},
    "lossWeights": {"scores": 2, "dense": 0.5}, "metrics": {"dense": ["mae"]}, "batchSize": 3, "epochs": 2,
    "optimizer": {"kind": "adam", "learningRate": {"kind": "cosine", "initialLearningRate": 0.01, "decayEpochs": 3}},
    "clipNorm": 1.0, "seed": 7, "shuffle": true})";
constexpr const char* kOneHead = R"({"loss": "categorical_crossentropy", "metrics": ["accuracy", "mae"],
    "classWeights": {"0": 2.0}, "globalBatchSize": 6, "epochs": 2, "emaMomentum": 0.9,
    "optimizer": {"kind": "sgd", "learningRate": {"kind": "piecewise", "boundaryEpochs": [1, 2],
    "values": [0.1, 0.01, 0.001]}, "momentum": 0.9}, "clipValue": 1.0, "backwardPassesPerStep": 2})";

INSTANTIATE_TEST_SUITE_P(Networks, TaskFuzz,
                         testing::Values(Source{"every-kind", kTwoHeads, 300}, Source{"mnist-cnn", kOneHead, 100}),
                         [](const auto& test) { return network::testName(test.param.network); });

}  // namespace
}  // namespace bloomery::train
