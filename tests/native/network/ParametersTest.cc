#include "network/Parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/Error.h"

namespace bloomery::network {
namespace {

std::vector<float> valuesOf(Initializer initializer, const std::string& name = "dense/kernel", uint64_t seed = 1) {
  Parameter parameter{name, {300, 200}, initializer, 300, 200};
  std::vector<float> values(300 * 200, NAN);
  initialize(parameter, seed, values);
  return values;
}

TEST(Parameters, constantsAreConstant) {
  for (float value : valuesOf(Initializer::kZeros)) ASSERT_EQ(value, 0.0f);
  for (float value : valuesOf(Initializer::kOnes)) ASSERT_EQ(value, 1.0f);
}

TEST(Parameters, randomValuesHaveKerassSpread) {
  struct {
    Initializer initializer;
    double deviation, limit;
  } cases[] = {
      {Initializer::kGlorotUniform, std::sqrt(2.0 / 500), std::sqrt(6.0 / 500)},
      {Initializer::kHeUniform, std::sqrt(2.0 / 300), std::sqrt(6.0 / 300)},
      // Cut at two standard deviations of what is drawn, and drawn wider to make up for it.
      {Initializer::kGlorotNormal, std::sqrt(2.0 / 500), 2 * std::sqrt(2.0 / 500) / 0.87962566103423978},
      {Initializer::kHeNormal, std::sqrt(2.0 / 300), 2 * std::sqrt(2.0 / 300) / 0.87962566103423978},
  };
  for (const auto& one : cases) {
    double sum = 0, squares = 0, largest = 0;
    auto values = valuesOf(one.initializer);
    for (float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0, one.deviation * 0.02);
    EXPECT_NEAR(std::sqrt(squares / count), one.deviation, one.deviation * 0.01);
    EXPECT_LE(largest, one.limit * (1 + 1e-6));
    EXPECT_GE(largest, one.limit * 0.99);
  }
}

TEST(Parameters, valuesDependOnSeedAndNameOnly) {
  for (Initializer initializer : {Initializer::kGlorotUniform, Initializer::kHeNormal}) {
    auto values = valuesOf(initializer);
    EXPECT_EQ(values, valuesOf(initializer));
    EXPECT_NE(values, valuesOf(initializer, "dense/kernel", 2));
    EXPECT_NE(values, valuesOf(initializer, "dense_1/kernel"));
  }
}

TEST(Parameters, initializersHaveKerassNames) {
  EXPECT_EQ(initializerOf("zeros"), Initializer::kZeros);
  EXPECT_EQ(initializerOf("ones"), Initializer::kOnes);
  EXPECT_EQ(initializerOf("glorot_uniform"), Initializer::kGlorotUniform);
  EXPECT_EQ(initializerOf("glorot_normal"), Initializer::kGlorotNormal);
  EXPECT_EQ(initializerOf("he_uniform"), Initializer::kHeUniform);
  EXPECT_EQ(initializerOf("he_normal"), Initializer::kHeNormal);
  EXPECT_THROW(initializerOf("xavier"), UserError);
}

TEST(ParameterTable, laysParametersOutInOrder) {
  ParameterTable table;
  EXPECT_EQ(table.numValues(), 0);
  table.add({"a/kernel", {3, 5}, Initializer::kZeros});
  table.add({"a/bias", {5}, Initializer::kZeros});
  EXPECT_EQ(table.numValues(), 20);
  ArenaLayout layout = table.layout();
  ASSERT_EQ(layout.slices().size(), 2u);
  EXPECT_EQ(layout.slices()[1].name, "a/bias");
  EXPECT_EQ(layout.slices()[1].offset, 16u);
}

}  // namespace
}  // namespace bloomery::network
