// Networks that are nearly right: whatever a spoiled text says, it is a network or a UserError.
#include <gtest/gtest.h>

#include "base/Error.h"
#include "base/JsonMutator.h"
#include "golden/Fixture.h"
#include "network/Networks.h"
#include "network/Summary.h"

namespace bloomery::network {
namespace {

struct Source {
  const char* name;
  uint64_t rounds;
};

class GraphFuzz : public testing::TestWithParam<Source> {};

TEST_P(GraphFuzz, spoiledNetworksAreUserErrorsOrNetworks) {
  const Json golden = golden::load(message("networks/", GetParam().name, ".json"));
  uint64_t parsed = 0, accepted = 0;
  for (uint64_t round = 0; round < GetParam().rounds; ++round) {
    std::string text = JsonMutator(round).mutated(golden);
    try {
      Json tree = parseJson(text, "network");
      ++parsed;
      Graph graph = Graph::fromJson(tree);
      EXPECT_LT(graph.parameters().layout().numFloats(), size_t{1} << 40);
      EXPECT_GE(graph.flopsPerSample(), 0);
      describe(graph).dump();
      ++accepted;
    } catch (const UserError& error) {
      EXPECT_LE(std::string(error.what()).size(), kMaxErrorBytes + 3);
    } catch (const std::exception& error) {
      FAIL() << "round " << round << ": " << error.what() << ", " << shortened(text);
    }
  }
  EXPECT_GT(parsed, GetParam().rounds / 2);  // the changes reach further than the parser
  EXPECT_GT(accepted, GetParam().rounds / 100);
  EXPECT_LT(accepted, parsed);
}

INSTANTIATE_TEST_SUITE_P(Networks, GraphFuzz,
                         testing::Values(Source{"every-kind", 1500}, Source{"mnist-cnn", 1000},
                                         Source{"captioning", 1000}, Source{"solar-cnn", 500},
                                         Source{"solar-mlp-10", 500}, Source{"cifar-resnet56v2", 60},
                                         Source{"fish-resnet34", 60}),
                         [](const auto& test) { return testName(test.param.name); });

}  // namespace
}  // namespace bloomery::network
