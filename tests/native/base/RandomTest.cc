#include "base/Random.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace bloomery {
namespace {

// From kat_vectors of the Random123 library, philox4x32 with 10 rounds.
TEST(Random, philoxGivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, everyBitOfAKeyPartMatters) {
  for (uint64_t a : {uint64_t{0}, uint64_t{42}, ~uint64_t{0}}) {
    for (uint64_t b : {uint64_t{0}, uint64_t{7}}) {
      uint64_t key = mixKey(a, b);
      for (int bit = 0; bit < 64; ++bit) {
        EXPECT_GT(std::popcount(key ^ mixKey(a ^ (uint64_t{1} << bit), b)), 10);
        EXPECT_GT(std::popcount(key ^ mixKey(a, b ^ (uint64_t{1} << bit))), 10);
      }
    }
  }
}

TEST(Random, keysOfDifferentPartsDiffer) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 100; ++a) {
    for (uint64_t b = 0; b < 100; ++b) keys.insert(mixKey(a, b));
  }
  EXPECT_EQ(keys.size(), 10000u);
  keys.clear();
  for (std::string text : {"", "a", "b", "ab", "ba", "aa", "conv2d/kernel", "conv2d/bias"})
    keys.insert(mixKey(1, text));
  keys.insert(mixKey(1, std::string_view("a\0", 2)));
  EXPECT_EQ(keys.size(), 9u);
  EXPECT_NE(mixKey(1, uint64_t{2}), mixKey(2, uint64_t{1}));
}

TEST(Random, uniformFloatsFillTheUnitInterval) {
  EXPECT_EQ(uniformFloat(0), 0.0f);
  EXPECT_EQ(uniformFloat(0xffffffff), 1.0f - 0x1p-24f);
  double sum = 0, squares = 0;
  constexpr int kDraws = 40000;
  for (uint64_t i = 0; i < kDraws / 4; ++i) {
    for (uint32_t bits : philox(3, i, 0)) {
      double value = uniformFloat(bits);
      sum += value;
      squares += value * value;
    }
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.006);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.006);
}

}  // namespace
}  // namespace bloomery
