#include "base/Instructions.h"

#include <gtest/gtest.h>

#include "base/Error.h"

namespace bloomery {
namespace {

TEST(Instructions, limitsLowerAndNeverRaise) {
  InstructionChoice choice(Instructions::kAvx2);
  EXPECT_TRUE(choice.limit(Instructions::kAvx512));
  EXPECT_EQ(choice.level(), Instructions::kAvx2);
  EXPECT_TRUE(choice.limit(Instructions::kBaseline));
  EXPECT_TRUE(choice.limit(Instructions::kAvx2));
  EXPECT_EQ(choice.level(), Instructions::kBaseline);
}

TEST(Instructions, whatIsFixedStays) {
  InstructionChoice choice(Instructions::kAvx512);
  EXPECT_TRUE(choice.limit(Instructions::kAvx2));
  EXPECT_FALSE(choice.isFixed());
  EXPECT_EQ(choice.fix(), Instructions::kAvx2);
  EXPECT_EQ(choice.fix(), Instructions::kAvx2);
  EXPECT_TRUE(choice.isFixed());
  EXPECT_FALSE(choice.limit(Instructions::kBaseline));
  EXPECT_TRUE(choice.limit(Instructions::kAvx2));
  EXPECT_TRUE(choice.limit(Instructions::kAvx512));
  EXPECT_EQ(choice.level(), Instructions::kAvx2);
}

TEST(Instructions, namesComeBack) {
  for (Instructions level : {Instructions::kBaseline, Instructions::kAvx2, Instructions::kAvx512}) {
    EXPECT_EQ(instructionsNamed(nameOf(level)), level);
  }
  EXPECT_THROW(instructionsNamed("AVX3"), UserError);
}

}  // namespace
}  // namespace bloomery
