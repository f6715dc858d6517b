// Batch normalization over several workers: statistics of all their rows, or of each worker's own.
#include <gtest/gtest.h>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

constexpr int64_t kRows = 16;  // of a step
constexpr int64_t kSteps = 5;

std::string networkWith(bool synchronized) {
  return message(R"({"layers": [
    {"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Conv2D", "filters": 8, "kernelSize": 3},
    {"kind": "BatchNormalization", "momentum": 0.8, "synchronized": )",
                 synchronized ? "true" : "false", R"(}, {"kind": "ReLU"}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 12},
    {"kind": "BatchNormalization", "name": "rows", "synchronized": )",
                 synchronized ? "true" : "false", R"(}, {"kind": "Activation", "function": "tanh"},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})");
}

// Of the kRows rows of each step this worker has those from `first` on.
WorkerRows partOf(int64_t first, int64_t width) {
  WorkerRows rows;
  for (int64_t step = 0; step < kSteps; ++step) {
    auto ids = idRange(static_cast<uint64_t>(step * kRows + first), static_cast<uint64_t>(width));
    rows.training.insert(rows.training.end(), ids.begin(), ids.end());
  }
  rows.steps = [width](int64_t epoch) {
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < width; ++i) positions.push_back((epoch - 1) * width + i);
    std::vector<std::vector<int64_t>> steps;
    if (width > 0) steps.push_back(positions);
    return std::make_unique<data::ExplicitRows>(steps);
  };
  return rows;
}

// Steps of plain gradients: parameters that are equal after each of them had equal gradients.
std::vector<WorkerResult> train(const std::vector<int64_t>& widths, bool synchronized,
                                const std::string& device = nn::kDefaultDevice) {
  std::vector<WorkerRows> workers;
  int64_t first = 0;
  for (int64_t width : widths) {
    workers.push_back(partOf(first, width));
    first += width;
  }
  return trainTogether(
      R"({"epochs": 5, "batchSize": 16, "seed": 4, "optimizer": {"kind": "sgd", "learningRate": 0.1}})", workers,
      networkWith(synchronized), "", "20", device);
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

struct Split {
  const char* name;
  std::vector<int64_t> widths;
};

class SynchronizedStatistics : public testing::TestWithParam<Split> {};

// The parameters contain the running statistics.
TEST_P(SynchronizedStatistics, severalWorkersTrainLikeOneWithTheWholeBatch) {
  for (const char* device : {"cpu", "reference"}) {
    SCOPED_TRACE(device);
    auto one = train({kRows}, true, device), several = train(GetParam().widths, true, device);
    EXPECT_LT(largestDifference(several[0].parameters, one[0].parameters), 1e-5);
    for (size_t step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(several[0].losses[step], one[0].losses[step], 1e-5) << "step " << step + 1;
    }
    for (const WorkerResult& worker : several) EXPECT_EQ(worker.parameters, several[0].parameters);
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, SynchronizedStatistics,
                         testing::Values(Split{"halves", {8, 8}}, Split{"uneven", {13, 3}}, Split{"oneRow", {15, 1}},
                                         Split{"lastEmpty", {16, 0}}, Split{"firstEmpty", {0, 16}},
                                         Split{"middleEmpty", {4, 0, 12}}),
                         [](const auto& test) { return test.param.name; });

TEST(Statistics, ofEachWorkerAloneAreOthers) {
  auto one = train({kRows}, false), halves = train({8, 8}, false), synchronized = train({kRows}, true);
  EXPECT_GT(largestDifference(halves[0].parameters, one[0].parameters), 1e-3);
  EXPECT_EQ(halves[0].parameters, halves[1].parameters);
  EXPECT_EQ(one[0].parameters, synchronized[0].parameters);
}

}  // namespace
}  // namespace bloomery::train
