#include "train/InputStatistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "checkpoint/Safetensors.h"
#include "train/ArrowRows.h"
#include "train/Predictor.h"
#include "train/Trainer.h"

namespace bloomery::train {
namespace {

// The mean and variance of every place of the image, and then those of all of them together.
const char* kNetwork = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.5},
    {"kind": "Normalization", "name": "each", "axis": [1, 2, 3]},
    {"kind": "Normalization", "name": "all", "axis": [], "inputs": ["input"]},
    {"kind": "Add", "inputs": ["each", "all"]}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
const char* kTraining = R"({"epochs": 1, "batchSize": 7, "seed": 2})";

struct Expected {
  std::vector<double> means, variances;
};

// In two passes over the rows, as NumPy does it: of each of `size` statistics that repeat over a row.
Expected expectedOf(const std::vector<uint64_t>& ids, size_t size, double scale) {
  data::RowStore rows({{{DType::kUint8, 36}}, {{3, true}}});
  for (uint64_t id : ids) appendRow(rows, id);
  auto valueAt = [&](size_t row, size_t i) {
    return scale * std::to_integer<int>(rows.features(static_cast<int64_t>(row))[i]);
  };
  Expected expected{std::vector<double>(size), std::vector<double>(size)};
  double count = static_cast<double>(ids.size() * 36 / size);
  for (size_t row = 0; row < ids.size(); ++row) {
    for (size_t i = 0; i < 36; ++i) expected.means[i % size] += valueAt(row, i) / count;
  }
  for (size_t row = 0; row < ids.size(); ++row) {
    for (size_t i = 0; i < 36; ++i) {
      expected.variances[i % size] += std::pow(valueAt(row, i) - expected.means[i % size], 2) / count;
    }
  }
  return expected;
}

std::vector<float> slice(const WorkerResult& worker, const std::string& name, const std::string& network = kNetwork) {
  ArenaLayout layout = TaskSpec::parse(taskJson(kTraining, 0, 1, "", network)).graph.parameters().layout();
  const Slice& slice = layout.find(name);
  auto first = worker.parameters.begin() + static_cast<ptrdiff_t>(slice.offset);
  return {first, first + static_cast<ptrdiff_t>(slice.size)};
}

void expectClose(const std::vector<float>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-7 * expected[i]) << i;
}

struct Split {
  const char* name;
  std::vector<uint64_t> rows;  // of each worker
};

class InputStatisticsOfWorkers : public testing::TestWithParam<Split> {};

TEST_P(InputStatisticsOfWorkers, areThoseOfAllTrainingRowsWhateverTheirWeight) {
  std::vector<WorkerRows> rows;
  uint64_t first = 0;
  for (uint64_t count : GetParam().rows) {
    rows.push_back({.training = idRange(first, count), .validation = idRange(5000 + first, 30)});
    rows.back().weightOf = [](uint64_t id) { return static_cast<float>(1 + id % 3); };
    first += count;
  }
  auto workers = trainTogether(kTraining, rows, kNetwork);
  for (const WorkerResult& worker : workers) {
    EXPECT_EQ(worker.parameters, workers[0].parameters);
    Expected each = expectedOf(idRange(0, 200), 36, 0.5), all = expectedOf(idRange(0, 200), 1, 0.5);
    expectClose(slice(worker, "each/mean"), each.means);
    expectClose(slice(worker, "each/variance"), each.variances);
    expectClose(slice(worker, "all/mean"), all.means);
    expectClose(slice(worker, "all/variance"), all.variances);
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, InputStatisticsOfWorkers,
                         testing::Values(Split{"one", {200}}, Split{"two", {199, 1}}, Split{"three", {70, 0, 130}}),
                         [](const auto& test) { return test.param.name; });

TEST(InputStatistics, rowsOnDiskGiveTheBitsOfRowsInMemory) {
  std::string network = R"({"layers": [{"kind": "Input", "shape": [100000], "dtype": "uint8", "scale": 0.001},
      {"kind": "Normalization"}, {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
  std::string onDisk = message(R"(, "data": {"memory": 3145728, "folders": [")",
                               std::filesystem::temp_directory_path().string(), "\"]}");
  std::vector<WorkerRows> rows = {{idRange(0, 75)}, {idRange(100, 41)}};
  auto inMemory = trainTogether(kTraining, rows, network), spilled = trainTogether(kTraining, rows, network, onDisk);
  EXPECT_EQ(spilled[0].parameters, inMemory[0].parameters);
  EXPECT_GT(slice(inMemory[0], "normalization/variance", network)[7], 0.0f);
}

// A batch of rows of two values.
data::Batch batchOf(const std::vector<std::pair<float, float>>& rows) {
  data::Batch batch(static_cast<int64_t>(rows.size()), {{{DType::kFloat32, 2}}, {}});
  batch.numRows = static_cast<int64_t>(rows.size());
  float* values = batch.features[0].all().data();
  for (size_t i = 0; i < rows.size(); ++i) std::tie(values[2 * i], values[2 * i + 1]) = rows[i];
  return batch;
}

network::Graph graphOfTwo() {
  return network::Graph::fromJson(parseJson(
      R"({"layers": [{"kind": "Input", "shape": [2]}, {"kind": "Normalization"}, {"kind": "Dense", "units": 2}]})",
      "network"));
}

std::vector<float> settled(const network::Graph& graph, const InputStatistics& statistics) {
  Arena parameters(graph.parameters().layout());
  statistics.settle(*comm::makeLocalGroup(1)[0], comm::Timeout(1000), parameters);
  ArenaLayout layout = graph.parameters().layout();
  const float *means = parameters.view(layout.slices()[0]).data, *variances = parameters.view(layout.slices()[1]).data;
  return {means[0], means[1], variances[0], variances[1]};
}

TEST(InputStatistics, largeMeansCostNoDigitsAndConstantsHaveNoVariance) {
  network::Graph graph = graphOfTwo();
  InputStatistics statistics(graph);
  for (int batch = 0; batch < 1000; ++batch) {
    statistics.add(batchOf({{8e6f, 0.1f}, {8e6f + 1, 0.1f}, {8e6f + 1, 0.1f}}));
    statistics.add(batchOf({{8e6f, 0.1f}}));
  }
  EXPECT_EQ(settled(graph, statistics), (std::vector<float>{8e6f + 0.5f, 0.1f, 0.25f, 0.0f}));
}

TEST(InputStatistics, everyInputHasItsOwn) {
  network::Graph graph = network::Graph::fromJson(parseJson(
      R"({"layers": [{"kind": "Input", "name": "a", "shape": [1]}, {"kind": "Input", "name": "b", "shape": [2]},
          {"kind": "Normalization", "name": "ofB", "inputs": ["b"]}, {"kind": "Normalization", "name": "ofA", "inputs": ["a"]},
          {"kind": "Concatenate", "inputs": ["ofA", "ofB"]}, {"kind": "Dense", "units": 2}]})",
      "network"));
  data::Batch batch(2, {{{DType::kFloat32, 1}, {DType::kFloat32, 2}}, {}});
  batch.numRows = 2;
  std::ranges::copy(std::vector{1.0f, 3.0f}, batch.features[0].all().begin());
  std::ranges::copy(std::vector{10.0f, 7.0f, 20.0f, 7.0f}, batch.features[1].all().begin());
  InputStatistics statistics(graph);
  statistics.add(batch);
  Arena parameters(graph.parameters().layout());
  statistics.settle(*comm::makeLocalGroup(1)[0], comm::Timeout(1000), parameters);
  auto valuesOf = [&](const std::string& name) {
    std::span<float> values = parameters.view(graph.parameters().layout().find(name)).span();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(valuesOf("ofA/mean"), (std::vector{2.0f}));
  EXPECT_EQ(valuesOf("ofA/variance"), (std::vector{1.0f}));
  EXPECT_EQ(valuesOf("ofB/mean"), (std::vector{15.0f, 7.0f}));
  EXPECT_EQ(valuesOf("ofB/variance"), (std::vector{25.0f, 0.0f}));
}

TEST(InputStatistics, whatIsNoNumberIsRefusedInOneSentence) {
  network::Graph graph = graphOfTwo();
  InputStatistics statistics(graph);
  statistics.add(batchOf({{1, 2}, {3, INFINITY}}));
  try {
    settled(graph, statistics);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("Statistics are not finite: layer 'normalization' (Normalization), "
                        "element 1, mean inf"),
              std::string::npos)
        << error.what();
  }
}

std::string weightsOf(const std::string& initial, const std::vector<uint64_t>& ids) {
  Trainer trainer(taskJson(kTraining, 0, 1, kImageColumns, kNetwork), std::as_bytes(std::span(initial)));
  trainer.connect({""}, "");
  ArrowRows rows(ids);
  trainer.ingestSchema(rows.schema());
  trainer.ingest(rows.array(), 0, 0);
  trainer.finishIngest();
  while (trainer.poll(std::chrono::milliseconds(20)).at("state") != "finished") {
  }
  return trainer.weights();
}

float meanOf(const std::string& weights) {
  ArenaLayout layout = TaskSpec::parse(taskJson(kTraining, 0, 1, "", kNetwork)).graph.parameters().layout();
  Arena parameters(layout);
  checkpoint::readSafetensors(std::as_bytes(std::span(weights)), layout, parameters);
  return parameters.view(layout.find("all/mean")).data[0];
}

TEST(InputStatistics, goIntoTheWeightsAndAreKeptByWhoeverTrainsOn) {
  std::string first = weightsOf("", idRange(0, 50));
  EXPECT_NEAR(meanOf(first), expectedOf(idRange(0, 50), 1, 0.5).means[0], 1e-5);
  EXPECT_EQ(meanOf(weightsOf(first, idRange(70, 20))), meanOf(first));
  EXPECT_NE(meanOf(weightsOf("", idRange(70, 20))), meanOf(first));
}

}  // namespace
}  // namespace bloomery::train
