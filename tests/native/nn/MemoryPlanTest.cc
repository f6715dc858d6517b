#include "nn/MemoryPlan.h"

#include <gtest/gtest.h>

#include "base/Random.h"

namespace bloomery::nn {

namespace {

void expectNoOverlap(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  for (size_t a = 0; a < buffers.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0u);
    EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes);
    for (size_t b = 0; b < a; ++b) {
      bool together = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
      bool apart = plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                   plan.offsets[b] + buffers[b].bytes <= plan.offsets[a];
      EXPECT_TRUE(!together || apart) << a << " and " << b;
    }
  }
}

TEST(MemoryPlanTest, buffersAliveTogetherLieApart) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<BufferLife> buffers;
    for (uint64_t i = 0; i < 60; ++i) {
      RandomBlock random = philox(seed, i, 0);
      int first = static_cast<int>(random[0] % 50);
      buffers.push_back({random[1] % 5000 + 1, first, first + static_cast<int>(random[2] % 10)});
    }
    expectNoOverlap(buffers, planMemory(buffers));
  }
}

TEST(MemoryPlanTest, buffersAliveAfterEachOtherShareTheirPlace) {
  std::vector<BufferLife> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({640, i, i + 1});
  MemoryPlan plan = planMemory(chain);
  expectNoOverlap(chain, plan);
  EXPECT_EQ(plan.bytes, 2 * 640u);
}

TEST(MemoryPlanTest, nothingTakesNothing) { EXPECT_EQ(planMemory({}).bytes, 0u); }

}  // namespace

}  // namespace bloomery::nn
