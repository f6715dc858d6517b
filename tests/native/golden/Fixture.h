// Reads the golden fixtures that tests/golden/generate.py wrote.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "base/JsonValue.h"
#include "network/Graph.h"
#include "tensor/Arena.h"

namespace bloomery::golden {

inline Json load(const std::string& name) {
  std::ifstream file(std::string(BLOOMERY_GOLDEN_DIRECTORY) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return parseJson(text.str(), name);
}

// One case: a network and the batch it saw.
struct Fixture {
  explicit Fixture(const Json& json)
      : name(json.at("name")),
        graph(network::Graph::fromJson(json.at("network"))),
        layout(graph.parameters().layout()),
        seed(json.at("seed")),
        epoch(json.at("epoch")),
        features(json.at("features").get<std::vector<float>>()),
        rowIds(json.at("rowIds").get<std::vector<uint64_t>>()),
        labels(json.at("labels").get<std::vector<int32_t>>()),
        weights(json.at("weights").get<std::vector<float>>()) {}

  int64_t numRows() const { return static_cast<int64_t>(rowIds.size()); }
  double weightSum() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }

  // {"layer/kernel": [values]} in the arena's layout.
  Arena arena(const Json& values) const {
    Arena arena(layout);
    for (const Slice& slice : layout.slices()) {
      std::vector<float> floats = values.at(slice.name).get<std::vector<float>>();
      EXPECT_EQ(floats.size(), slice.size) << slice.name;
      std::copy(floats.begin(), floats.end(), arena.view(slice).data);
    }
    return arena;
  }

  std::string name;
  network::Graph graph;
  ArenaLayout layout;
  uint64_t seed;
  int64_t epoch;
  std::vector<float> features;
  std::vector<uint64_t> rowIds;
  std::vector<int32_t> labels;
  std::vector<float> weights;
};

inline void expectNear(std::span<const float> actual, const Json& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i].get<double>(), tolerance) << what << "[" << i << "]";
  }
}

}  // namespace bloomery::golden
