#include "tensor/Halves.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/Random.h"

namespace bloomery {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint16_t halfOf(HalfFormat format, float value, float scale = 1) {
  uint16_t half = 0;
  toHalves(format, SimdLevel::kBaseline, {&value, 1}, scale, {&half, 1});
  return half;
}

float floatOf(HalfFormat format, uint16_t half) {
  float value = 0;
  fromHalves(format, SimdLevel::kBaseline, {&half, 1}, 1.0f, {&value, 1});
  return value;
}

struct Known {
  float value;
  uint16_t fp16, bf16;
};

TEST(Halves, knownNumbersHaveTheirBits) {
  for (const Known& known : {Known{0.0f, 0, 0},
                             {-0.0f, 0x8000, 0x8000},
                             {1.0f, 0x3C00, 0x3F80},
                             {-2.0f, 0xC000, 0xC000},
                             {65504.0f, 0x7BFF, 0x4780},
                             {65519.0f, 0x7BFF, 0x4780},
                             {65520.0f, 0x7C00, 0x4780},
                             {1e30f, 0x7C00, 0x714A},
                             {0x1p-14f, 0x0400, 0x3880},
                             {0x1p-24f, 0x0001, 0x3380},
                             {0x1p-25f, 0x0000, 0x3300},         // half of the smallest: a tie, to even
                             {0x1.8p-24f, 0x0002, 0x33C0},       // one and a half of it: a tie, to even
                             {1.0f + 0x1p-11f, 0x3C00, 0x3F80},  // ties
                             {1.0f + 0x3p-11f, 0x3C02, 0x3F80},
                             {1.0f + 0x1p-8f, 0x3C04, 0x3F80},
                             {1.0f + 0x3p-8f, 0x3C0C, 0x3F82},
                             {kInfinity, 0x7C00, 0x7F80},
                             {-kInfinity, 0xFC00, 0xFF80}}) {
    EXPECT_EQ(halfOf(HalfFormat::kFp16, known.value), known.fp16) << known.value;
    EXPECT_EQ(halfOf(HalfFormat::kBf16, known.value), known.bf16) << known.value;
  }
  for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    EXPECT_TRUE(std::isnan(floatOf(format, halfOf(format, NAN))));
    EXPECT_EQ(floatOf(format, halfOf(format, 0.25f, 8)), 2.0f);
  }
}

TEST(Halves, everyNumberThatIsOneComesBackAsItWas) {
  for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto half = static_cast<uint16_t>(bits);
      float value = floatOf(format, half);
      if (!std::isnan(value)) {
        ASSERT_EQ(halfOf(format, value), half);
      }
      ASSERT_EQ(std::isfinite(value), allFinite(format, {&half, 1}));
    }
  }
}

// All halves, and floats of any bits, in lengths that leave a rest.
TEST(Halves, vectorsGiveTheBitsOfPlainLoops) {
  if (simdLevel() != SimdLevel::kAvx2) GTEST_SKIP();
  constexpr size_t kSize = 0x10000 + 13;
  for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    std::vector<uint16_t> halves(kSize), others(kSize), results[2];
    std::vector<float> floats(kSize), values[2];
    for (size_t i = 0; i < kSize; ++i) {
      halves[i] = static_cast<uint16_t>(i);
      RandomBlock random = philox(1, i, 0);
      others[i] = static_cast<uint16_t>(random[0]);
      floats[i] = std::bit_cast<float>(random[1]);
      if (i % 2 == 0) floats[i] = (uniformFloat(random[2]) - 0.5f) * std::exp2(static_cast<float>(random[3] % 48) - 30);
    }
    std::vector<uint32_t> bits[2];
    std::vector<uint16_t> sums[2];
    for (size_t i : {0u, 1u}) {
      SimdLevel level = i == 0 ? SimdLevel::kBaseline : SimdLevel::kAvx2;
      results[i].resize(kSize);
      toHalves(format, level, floats, 4.0f, results[i]);
      values[i].resize(kSize);
      fromHalves(format, level, halves, 0.25f, values[i]);
      for (float value : values[i]) bits[i].push_back(std::bit_cast<uint32_t>(value));
      sums[i].resize(kSize);
      addHalves(format, level, halves.data(), others.data(), kSize, sums[i].data());
      for (uint16_t& sum : sums[i]) sum = std::isnan(floatOf(format, sum)) ? 0xFFFF : sum;  // which of two is open
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(bits[0], bits[1]);
    EXPECT_EQ(sums[0], sums[1]);
  }
}

TEST(Halves, addUpLikeFloatsThatAreRounded) {
  for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    for (uint64_t i = 0; i < 1000; ++i) {
      float a = uniformFloat(philox(1, i, 0)[0]) - 0.5f, b = uniformFloat(philox(2, i, 0)[0]) - 0.5f;
      uint16_t left = halfOf(format, a), right = halfOf(format, b), sum = 0;
      addHalves(format, SimdLevel::kBaseline, &left, &right, 1, &sum);
      EXPECT_EQ(sum, halfOf(format, floatOf(format, left) + floatOf(format, right)));
      EXPECT_NEAR(floatOf(format, sum), a + b, format == HalfFormat::kFp16 ? 1e-3 : 1e-2);
    }
  }
}

}  // namespace
}  // namespace bloomery
