#include "tensor/Shape.h"

#include <gtest/gtest.h>

namespace bloomery {
namespace {

TEST(Shape, countsAndPrints) {
  struct {
    Shape shape;
    int64_t elements;
    const char* text;
  } cases[] = {
      {Shape{28, 28, 1}, 784, "(28, 28, 1)"}, {Shape{10}, 10, "(10,)"}, {Shape(), 1, "()"}, {Shape{3, 0}, 0, "(3, 0)"}};
  for (const auto& one : cases) {
    EXPECT_EQ(one.shape.numElements(), one.elements);
    EXPECT_EQ(one.shape.toString(), one.text);
  }
}

TEST(Shape, comparesByExtents) {
  EXPECT_EQ((Shape{2, 3}), Shape(std::vector<int64_t>{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{6}), (Shape{6, 1}));
  EXPECT_EQ((Shape{2, 3})[1], 3);
  EXPECT_EQ((Shape{2, 3}).rank(), 2u);
}

}  // namespace
}  // namespace bloomery
