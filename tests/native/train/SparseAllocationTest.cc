// Steps of two workers who tell each other which rows of a table they touched allocate nothing, on no thread.
#include <gtest/gtest.h>

#include "nn/CountingAllocator.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

constexpr int kBatch = 4, kStepsPerEpoch = 8;
// The tail with what is dense, the numbers of the rows, the rows.
constexpr int kReductions = 3;

// Counts in the middle of the second epoch, where both ranks are within it for sure.
class CountingRank final : public comm::Communicator {
 public:
  explicit CountingRank(std::unique_ptr<comm::Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void allreduce(std::span<float> values, comm::Timeout timeout) override {
    inner_->allreduce(values, timeout);
    ++numReductions_;
    nn::AllocationCounts& counts = nn::allocationCounts();
    if (numReductions_ == (kStepsPerEpoch + 2) * kReductions) {
      counts.numAllocations = 0;
      counts.counting = true;
    }
    if (numReductions_ == (kStepsPerEpoch + 6) * kReductions) counts.counting = false;
    if (numReductions_ == 2 * kStepsPerEpoch * kReductions) hasCounted = true;
  }
  void allreduce(std::span<double> values, comm::Timeout timeout) override { inner_->allreduce(values, timeout); }
  std::vector<uint64_t> allgather(uint64_t value, comm::Timeout timeout) override {
    return inner_->allgather(value, timeout);
  }
  void broadcast(std::span<std::byte> bytes, int root, comm::Timeout timeout) override {
    inner_->broadcast(bytes, root, timeout);
  }
  void abort() override { inner_->abort(); }

  static inline bool hasCounted = false;

 private:
  std::unique_ptr<comm::Communicator> inner_;
  int numReductions_ = 0;
};

TEST(SparseAllocation, stepsAllocateNothing) {
  const std::string network = R"({"layers": [{"kind": "Input", "shape": [6], "dtype": "uint8"},
    {"kind": "Embedding", "inputDim": 4000, "outputDim": 20}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
  const std::string training = message(R"({"epochs": 2, "optimizer": "sgd", "batchSize": )", kBatch, "}");
  auto group = comm::makeLocalGroup(2);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    auto index = static_cast<size_t>(rank);
    std::unique_ptr<comm::Communicator> own = std::move(group[index]);
    if (rank == 0) own = std::make_unique<CountingRank>(std::move(own));
    workers.push_back(std::make_unique<Worker>(taskJson(training, rank, 2, "", network),
                                               WorkerRows{idRange(1000 * index, kBatch * kStepsPerEpoch)},
                                               std::move(own)));
  }
  std::thread other([&] { workers[1]->run(); });
  workers[0]->run();
  other.join();
  EXPECT_TRUE(CountingRank::hasCounted);
  EXPECT_EQ(nn::allocationCounts().numAllocations, 0);
}

}  // namespace
}  // namespace bloomery::train
