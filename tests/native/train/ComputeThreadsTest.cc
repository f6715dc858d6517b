#include "train/ComputeThreads.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <thread>

namespace bloomery::train {
namespace {

// Half of the smallest number of full precision; volatile, so that the processor computes it and not the compiler.
float halfOfSmallest() {
  volatile float smallest = 1.17549435e-38f;
  return smallest * 0.5f;
}

TEST(ComputeThreadsTest, tinyNumbersAreZeroOnTheTeamAndNowhereElse) {
  std::array<float, 2> results = {1, 1};
  std::thread owner([&] {
    setComputeThreads(2);
    treatTinyNumbersAsZero();
#pragma omp parallel
    results[static_cast<size_t>(omp_get_thread_num())] = halfOfSmallest();
  });
  owner.join();
  int team = std::min(2, omp_get_thread_limit());  // one under ThreadSanitizer
  for (int i = 0; i < team; ++i) EXPECT_EQ(results[static_cast<size_t>(i)], 0.0f) << i;
  EXPECT_GT(halfOfSmallest(), 0.0f);
}

}  // namespace
}  // namespace bloomery::train
