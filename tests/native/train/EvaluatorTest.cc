#include "train/Evaluator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/Safetensors.h"
#include "train/ArrowRows.h"
#include "train/Predictor.h"

namespace bloomery::train {
namespace {

std::string task() { return taskJson(R"({"metrics": ["accuracy", "mse"]})", 0, 1, kImageColumns); }

std::string initialWeights() {
  TaskSpec spec = TaskSpec::parse(task());
  ArenaLayout layout = spec.graph.parameters().layout();
  Arena parameters(layout);
  spec.graph.parameters().initialize(3, parameters);
  return checkpoint::writeSafetensors(layout, parameters, {});
}

TEST(Evaluator, sumsOfSeveralGiveTheMeasuresOfAllRows) {
  std::string weights = initialWeights();
  std::span<const std::byte> bytes = std::as_bytes(std::span(weights));
  std::vector<double> sums;
  for (auto [first, count] : {std::pair(0, 300), std::pair(300, 7)}) {
    Evaluator evaluator(task(), bytes);
    for (int part = 0; part < 2; ++part) {
      ArrowRows rows(idRange(static_cast<uint64_t>(first), static_cast<uint64_t>(count)));
      evaluator.add(rows.schema(), rows.array(), part, 0);
      EXPECT_TRUE(rows.released());
    }
    if (sums.empty()) sums.resize(evaluator.sums().size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += evaluator.sums()[i];
  }
  Json measures = measuresOf(task(), sums);

  Predictor predictor(task(), bytes);
  ArrowRows rows(idRange(0, 307));
  std::vector<float> probability(307 * 3);
  predictor.predict(rows.schema(), rows.array(), 0, 0, nullptr, probability.data());
  double loss = 0, correct = 0;
  for (size_t row = 0; row < 307; ++row) {
    const float* p = &probability[row * 3];
    auto label = static_cast<int64_t>(philox(7, row, 0)[0] % 3);
    loss -= std::log(p[label]);
    correct += std::max_element(p, p + 3) - p == label ? 1 : 0;
  }
  EXPECT_NEAR(measures.at("loss").get<double>(), loss / 307, 1e-5);
  EXPECT_NEAR(measures.at("accuracy").get<double>(), correct / 307, 1e-9);
  EXPECT_GT(measures.at("mse").get<double>(), 0);
}

TEST(Evaluator, noRowsAreAnError) {
  EXPECT_THROW(measuresOf(task(), {}), UserError);
  std::string weights = initialWeights();
  Evaluator evaluator(task(), std::as_bytes(std::span(weights)));
  EXPECT_THROW(measuresOf(task(), evaluator.sums()), UserError);
}

}  // namespace
}  // namespace bloomery::train
