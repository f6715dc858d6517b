#include "comm/GradientWire.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/Random.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);
constexpr size_t kMany = GradientWire::kMessageFloats + 5000;  // two messages

float gradientOf(int rank, size_t i) { return (uniformFloat(philox(static_cast<uint64_t>(rank) + 1, i, 0)[0]) - 0.5f); }

struct Case {
  const char* name;
  HalfFormat format;
  int ranks;
  bool gloo;
  double tolerance;  // of the largest values
};

class GradientWireTest : public testing::TestWithParam<Case> {};

TEST_P(GradientWireTest, addsUpNearlyAndEquallyOnAllRanks) {
  const Case& test = GetParam();
  auto ranks = test.gloo ? connectOverLoopback(test.ranks) : makeLocalGroup(test.ranks);
  std::vector<std::vector<float>> results(ranks.size());
  onAllRanks(ranks, [&](Communicator& communicator) {
    GradientWire wire({test.format, 100});
    std::vector<float> values(kMany);
    for (size_t i = 0; i < values.size(); ++i) values[i] = gradientOf(communicator.rank(), i) * 1e-6f;
    wire.reduce(communicator, values, kPlenty);
    EXPECT_EQ(wire.takeRepeats(), 0);
    results[static_cast<size_t>(communicator.rank())] = values;
  });
  double squares = 0;
  for (size_t i = 0; i < kMany; ++i) {
    double sum = 0;
    for (int rank = 0; rank < test.ranks; ++rank) sum += gradientOf(rank, i) * 1e-6;
    squares += std::pow(results[0][i] - sum, 2);
    ASSERT_NEAR(results[0][i], sum, test.tolerance * 1e-6) << i;
  }
  EXPECT_GT(squares, 0);  // it did travel in 16 bits
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

INSTANTIATE_TEST_SUITE_P(Formats, GradientWireTest,
                         testing::Values(Case{"fp16", HalfFormat::kFp16, 2, false, 3e-3},
                                         Case{"fp16OverGloo", HalfFormat::kFp16, 4, true, 6e-3},
                                         Case{"bf16", HalfFormat::kBf16, 3, false, 2e-2},
                                         Case{"bf16OverGloo", HalfFormat::kBf16, 2, true, 1e-2}),
                         [](const auto& test) { return std::string(test.param.name); });

// One rank's value overflows, or only the sum does.
TEST(GradientWire, makesSumsThatAreNotFiniteAgainOfFloats) {
  for (float large : {1e6f, 6e4f}) {
    auto ranks = makeLocalGroup(2);
    onAllRanks(ranks, [&](Communicator& communicator) {
      GradientWire wire({HalfFormat::kFp16, 1});
      std::vector<float> values(5000, 1.0f / 3);
      values[4321] = large;
      wire.reduce(communicator, values, kPlenty);
      EXPECT_EQ(values[0], 2.0f / 3);
      EXPECT_EQ(values[4321], 2 * large);
      EXPECT_EQ(wire.takeRepeats(), 1);
      EXPECT_EQ(wire.takeRepeats(), 0);
    });
  }
}

TEST(GradientWire, smallGradientsOfLargeBatchesSurvive) {
  auto ranks = makeLocalGroup(2);
  onAllRanks(ranks, [&](Communicator& communicator) {
    for (auto [batch, expected] : {std::pair(1.0, 0.0f), {65536.0, 2e-9f}, {100000.0, 2e-9f}}) {
      GradientWire wire({HalfFormat::kFp16, batch});
      std::vector<float> values(5000, 1e-9f);
      wire.reduce(communicator, values, kPlenty);
      EXPECT_NEAR(values[0], expected, 2e-11) << batch;
    }
  });
}

TEST(GradientWire, fewValuesTravelAsTheyAre) {
  auto ranks = makeLocalGroup(2);
  onAllRanks(ranks, [&](Communicator& communicator) {
    GradientWire wire({HalfFormat::kBf16, 1});
    std::vector<float> values(100, 1.0f / 3);
    wire.reduce(communicator, values, kPlenty);
    EXPECT_EQ(values[0], 2.0f / 3);
  });
}

TEST(MixedReduction, exactPartsTravelAsTheyAreAndTheRestInHalves) {
  auto ranks = makeLocalGroup(2);
  onAllRanks(ranks, [&](Communicator& communicator) {
    GradientWire wire({HalfFormat::kBf16, 1});
    std::vector<float> values(kMany, 1.0f / 3);
    std::span<float> bucket = values;
    MixedReduction reduction(wire, bucket, {bucket.subspan(0, 10), bucket.subspan(7000, 3), bucket.last(16)});
    reduction.run(communicator, kPlenty);
    for (size_t i = 0; i < values.size(); ++i) {
      bool isExact = i < 10 || (i >= 7000 && i < 7003) || i >= kMany - 16;
      ASSERT_EQ(values[i] == 2.0f / 3, isExact) << i;
      ASSERT_NEAR(values[i], 2.0f / 3, 4e-3);
    }
  });
}

}  // namespace
}  // namespace bloomery::comm
