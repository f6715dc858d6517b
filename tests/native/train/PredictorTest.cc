#include "train/Predictor.h"

#include <gtest/gtest.h>

#include <future>

#include "checkpoint/Safetensors.h"
#include "train/ArrowRows.h"

namespace bloomery::train {
namespace {

std::string initialWeights() {
  TaskSpec task = TaskSpec::parse(taskJson("{}", 0, 1, kImageColumns));
  ArenaLayout layout = task.graph.parameters().layout();
  Arena parameters(layout);
  task.graph.parameters().initialize(3, parameters);
  return checkpoint::writeSafetensors(layout, parameters, {});
}

std::vector<float> predict(Predictor& predictor, uint64_t first, int64_t count) {
  ArrowRows rows(idRange(first, static_cast<size_t>(count)));
  std::vector<float> probability(static_cast<size_t>(count * 3));
  predictor.predict(rows.schema(), rows.array(), 0, 0, nullptr, probability.data());
  return probability;
}

class PredictorTest : public testing::Test {
 protected:
  std::string weights_ = initialWeights();
  Predictor predictor_{taskJson("{}", 0, 1, kImageColumns), std::as_bytes(std::span(weights_))};
};

TEST_F(PredictorTest, aRowsPredictionDoesNotDependOnItsBatch) {
  std::vector<float> together = predict(predictor_, 0, 600);
  for (int64_t first : {0, 15, 255, 256, 599}) {
    std::vector<float> alone = predict(predictor_, static_cast<uint64_t>(first), 1);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(alone[i], together[static_cast<size_t>(first) * 3 + i], 1e-6) << first;
  }
}

TEST_F(PredictorTest, eightThreadsAtOncePredictWhatOneDoes) {
  std::vector<float> expected = predict(predictor_, 0, 300);
  std::vector<std::future<int>> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.push_back(std::async(std::launch::async, [&] {
      int same = 0;
      for (int round = 0; round < 5; ++round) same += predict(predictor_, 0, 300) == expected ? 1 : 0;
      return same;
    }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), 5);
}

}  // namespace
}  // namespace bloomery::train
