#include "network/Layers.h"

#include <gtest/gtest.h>

#include "network/Networks.h"

namespace bloomery::network {
namespace {

// What TensorFlow gives for these windows.
TEST(Layers, paddingLiesWhereKerasPutsIt) {
  struct {
    Padding padding;
    int64_t extent, window, stride, before, after, output;
  } cases[] = {
      {Padding::kValid, 28, 3, 1, 0, 0, 26}, {Padding::kValid, 7, 2, 2, 0, 0, 3}, {Padding::kSame, 28, 3, 1, 1, 1, 28},
      {Padding::kSame, 28, 2, 1, 0, 1, 28},  {Padding::kSame, 5, 3, 2, 1, 1, 3},  {Padding::kSame, 6, 3, 2, 0, 1, 3},
      {Padding::kSame, 6, 2, 2, 0, 0, 3},    {Padding::kSame, 7, 2, 2, 0, 1, 4},  {Padding::kSame, 3, 1, 2, 0, 0, 2},
      {Padding::kSame, 1, 7, 1, 3, 3, 1},    {Padding::kSame, 10, 4, 3, 1, 2, 4}, {Padding::kValid, 10, 4, 3, 0, 0, 3},
  };
  for (const auto& one : cases) {
    AxisPadding padding = paddingOf(one.padding, one.extent, one.window, one.stride);
    EXPECT_EQ(padding.before, one.before) << one.extent << " " << one.window << " " << one.stride;
    EXPECT_EQ(padding.after, one.after) << one.extent << " " << one.window << " " << one.stride;
    Convolution window;
    window.filters = 1;
    window.kernelSize = {one.window, 1};
    window.strides = {one.stride, 1};
    window.padding = one.padding;
    Layer conv = window;
    ParameterTable table;
    const Shape tall{one.extent, 1, 1}, wide{1, one.extent, 5};
    EXPECT_EQ(declare(conv, "c", {&tall, 1}, table), (Shape{one.output, 1, 1}));
    Pooling pooling;
    pooling.poolSize = {1, one.window};
    pooling.strides = {1, one.stride};
    pooling.padding = one.padding;
    Layer pool = pooling;
    EXPECT_EQ(declare(pool, "p", {&wide, 1}, table), (Shape{1, one.output, 5}));
  }
}

TEST(Layers, knowTheirFunctions) {
  EXPECT_EQ(nameOf(Function::kLinear), "linear");
  EXPECT_EQ(nameOf(Function::kRelu), "relu");
  EXPECT_EQ(nameOf(Function::kSoftmax), "softmax");
  EXPECT_EQ(activationOf(Layer(Flatten{})), Function::kLinear);
  EXPECT_EQ(activationOf(Layer(Activation{Function::kRelu})), Function::kRelu);
}

TEST(Layers, countFlops) {
  Convolution conv;
  conv.filters = 32;
  conv.kernelSize = {3, 3};
  EXPECT_EQ(flopsOf(conv, {28, 28, 1}, {26, 26, 32}), 389376);
  EXPECT_EQ(flopsOf(Dense{}, {128}, {10}), 2560);
  EXPECT_EQ(flopsOf(Flatten{}, {4, 4}, {16}), 0);
  EXPECT_EQ(flopsOf(Activation{Function::kRelu}, {7}, {7}), 7);
}

}  // namespace
}  // namespace bloomery::network
