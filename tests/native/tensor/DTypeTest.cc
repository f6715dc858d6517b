#include "tensor/DType.h"

#include <gtest/gtest.h>

#include "base/Error.h"

namespace bloomery {
namespace {

TEST(DType, knowsNamesAndSizes) {
  struct {
    DType type;
    const char* name;
    size_t bytes;
  } cases[] = {{DType::kFloat32, "float32", 4}, {DType::kFloat64, "float64", 8}, {DType::kUint8, "uint8", 1},
               {DType::kInt8, "int8", 1},       {DType::kInt16, "int16", 2},     {DType::kInt32, "int32", 4},
               {DType::kInt64, "int64", 8}};
  EXPECT_EQ(dtypeNames().size(), std::size(cases));
  for (const auto& one : cases) {
    EXPECT_EQ(nameOf(one.type), one.name);
    EXPECT_EQ(sizeOf(one.type), one.bytes);
    EXPECT_EQ(dtypeOf(one.name), one.type);
  }
}

TEST(DType, suggestsTheNearest) {
  try {
    dtypeOf("unit8");
    FAIL() << "nothing thrown";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Unknown dtype: unit8, nearest known: uint8");
  }
}

}  // namespace
}  // namespace bloomery
