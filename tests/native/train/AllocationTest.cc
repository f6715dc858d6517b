// Steps of training allocate nothing and create no primitive, on no thread, whatever the network: from the second epoch
// on, between its first step and its last. A program of its own, because it replaces the allocation functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "comm/local/LocalGroup.h"
#include "golden/Fixture.h"
#include "network/Networks.h"
#include "nn/CountingAllocator.h"
#include "train/ComputeThreads.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {
namespace {

constexpr int kBatch = 2, kStepsPerEpoch = 8;

// One of two ranks that have the same rows, so that every sum is twice what it brings. Counts from the first bucket of
// the second epoch to its last.
class CountingCommunicator final : public comm::Communicator {
 public:
  explicit CountingCommunicator(size_t numBuckets) : perEpoch_(numBuckets * kStepsPerEpoch) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void allreduce(std::span<float> values, comm::Timeout) override {
    for (float& value : values) value *= 2;
    ++numReductions_;
    nn::AllocationCounts& counts = nn::allocationCounts();
    if (numReductions_ == perEpoch_ + 1) {
      counts.numAllocations = counts.numPrimitives = 0;
      counts.counting = true;
    }
    if (numReductions_ != 2 * perEpoch_) return;
    counts.counting = false;
    numPrimitives = counts.numPrimitives;
  }
  void allreduce(std::span<double> values, comm::Timeout) override {
    for (double& value : values) value *= 2;
  }
  std::vector<uint64_t> allgather(uint64_t value, comm::Timeout) override { return {value, value}; }
  void broadcast(std::span<std::byte>, int, comm::Timeout) override {}
  void abort() override {}

  int numPrimitives = -1;

 private:
  size_t perEpoch_, numReductions_ = 0;
};

void appendRow(data::RowStore& rows, uint64_t id) {
  rows.append(id, 1.0f);
  int64_t row = rows.numRows() - 1;
  for (size_t input = 0; input < rows.format().features.size(); ++input) {
    const data::FeatureFormat& format = rows.format().features[input];
    std::byte* to = rows.features(row, input);
    for (int64_t i = 0; i < format.count; ++i) {
      int32_t whole = static_cast<int32_t>((id + static_cast<uint64_t>(i) * 7) % 10);
      float number = static_cast<float>(whole) / 10;
      if (format.type == DType::kUint8) to[i] = static_cast<std::byte>(whole);
      if (format.type == DType::kInt32) std::memcpy(to + i * 4, &whole, 4);
      if (format.type == DType::kFloat32) std::memcpy(to + i * 4, &number, 4);
    }
  }
  for (size_t target = 0; target < rows.format().targets.size(); ++target) {
    const data::TargetFormat& format = rows.format().targets[target];
    if (format.isClass) rows.setLabel(row, target, 1);
    for (int64_t i = 0; !format.isClass && i < format.width; ++i) rows.values(row, target)[i] = i == 0 ? 1.0f : 0.0f;
  }
}

struct Reference {
  const char* network;
  const char* loss;
};

class AllocationTest : public testing::TestWithParam<Reference> {};

// On rows that are in memory, or with this section of the task elsewhere.
void expectStepsToAllocateNothing(const Json& network, const Json& loss, const Json& data) {
  Json json = {{"network", network},
               {"training", {{"loss", loss}, {"optimizer", "adam"}, {"batchSize", kBatch}, {"epochs", 2}}},
               {"data", data}};
  TaskSpec task = TaskSpec::parse(json.dump());
  ArenaLayout layout = task.graph.parameters().layout();
  Arena parameters(layout);
  task.graph.parameters().initialize(1, parameters);
  auto space = task.rows.makeSpace();
  data::RowStore rows(task.rowFormat(), space.get()), none(task.rowFormat(), space.get());
  for (uint64_t id = 0; id < kBatch * kStepsPerEpoch - 1; ++id) appendRow(rows, id);  // the last batch is short
  rows.finish();
  none.finish();
  CountingCommunicator communicator(comm::planBuckets(layout, layout.numFloats() + 16).size());
  Cancellation cancellation;
  Progress progress(2, metricNames(task.training.heads));
  Trace trace;
  setComputeThreads(2);
  // The other rank is made up, and cannot tell which rows of a table it touches.
  TrainingLoop loop({.task = task,
                     .parameters = parameters,
                     .trainingRows = rows,
                     .validationRows = none,
                     .communicator = communicator,
                     .cancellation = cancellation,
                     .progress = progress,
                     .trace = trace,
                     .stepRows = {},
                     .plan = std::make_unique<StepPlan>(task, parameters, communicator.size(), nullptr,
                                                        std::numeric_limits<int64_t>::max())});
  loop.run();
  EXPECT_EQ(nn::allocationCounts().numAllocations, 0);
  EXPECT_EQ(communicator.numPrimitives, 0);
}

TEST_P(AllocationTest, stepsAllocateAndCreateNothing) {
  expectStepsToAllocateNothing(golden::load(std::string("networks/") + GetParam().network + ".json"),
                               Json::parse(GetParam().loss), Json::object());
}

// Three rows a chunk.
TEST(SpilledAllocationTest, stepsOnRowsFromDiskAllocateNothing) {
  Json network = Json::parse(R"({"layers": [{"kind": "Input", "shape": [300000], "dtype": "uint8"},
                                 {"kind": "Dense", "units": 3, "activation": "softmax"}]})");
  for (int64_t mebibytes : {0, 4}) {
    expectStepsToAllocateNothing(
        network, "categorical_crossentropy",
        {{"memory", mebibytes << 20}, {"folders", {"/tmp"}}, {"encryptionKey", std::string(64, '7')}});
  }
}

constexpr const char* kEntropy = R"("categorical_crossentropy")";
constexpr const char* kSquares = R"("mse")";

INSTANTIATE_TEST_SUITE_P(Networks, AllocationTest,
                         testing::Values(Reference{"mnist-cnn", kEntropy}, Reference{"cifar-resnet56v2", kEntropy},
                                         Reference{"captioning", kEntropy}, Reference{"fish-resnet34", kEntropy},
                                         Reference{"solar-mlp-10", kSquares}, Reference{"solar-mlp-100", kSquares},
                                         Reference{"solar-cnn", kSquares},
                                         Reference{"every-kind",
                                                   R"({"scores": "categorical_crossentropy", "dense": "mse"})"}),
                         [](const auto& test) { return network::testName(test.param.network); });

}  // namespace
}  // namespace bloomery::train
