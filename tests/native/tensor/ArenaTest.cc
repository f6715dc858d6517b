#include "tensor/Arena.h"

#include <gtest/gtest.h>

#include "base/Error.h"

namespace bloomery {
namespace {

TEST(ArenaLayout, placesSlicesOnCacheLinesInOrder) {
  ArenaLayout layout;
  EXPECT_EQ(layout.numFloats(), 0u);
  EXPECT_EQ(layout.add("a", {3, 3}), 0u);
  EXPECT_EQ(layout.add("b", {16}), 1u);
  EXPECT_EQ(layout.add("c", Shape()), 2u);
  EXPECT_EQ(layout.add("d", {17}), 3u);
  size_t offsets[] = {0, 16, 32, 48}, sizes[] = {9, 16, 1, 17};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(layout.slices()[i].offset, offsets[i]);
    EXPECT_EQ(layout.slices()[i].size, sizes[i]);
  }
  EXPECT_EQ(layout.numFloats(), 80u);
  EXPECT_EQ(layout.find("c").offset, 32u);
  EXPECT_THROW(layout.find("e"), InternalError);
}

TEST(Arena, isZeroedAlignedAndKeepsSlicesApart) {
  ArenaLayout layout;
  layout.add("a", {3, 3});
  layout.add("b", {5});
  Arena arena(layout);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.all().data()) % 64, 0u);
  ASSERT_EQ(arena.all().size(), 32u);
  for (float value : arena.all()) EXPECT_EQ(value, 0.0f);
  TensorView a = arena.view(layout.slices()[0]), b = arena.view(layout.slices()[1]);
  EXPECT_EQ(a.shape, (Shape{3, 3}));
  EXPECT_EQ(a.span().size(), 9u);
  for (float& value : a.span()) value = 1;
  for (float value : b.span()) EXPECT_EQ(value, 0.0f);
  EXPECT_EQ(b.data - a.data, 16);
  EXPECT_EQ(arena.all()[9], 0.0f);
  arena.clear();
  for (float value : arena.all()) EXPECT_EQ(value, 0.0f);
}

TEST(Arena, mayBeEmptyButNotLargerThanMemory) {
  EXPECT_TRUE(Arena(size_t{0}).all().empty());
  EXPECT_THROW(Arena(size_t{1} << 58), ResourceError);
}

TEST(Arena, mayLieInMemoryThatOthersCanMap) {
  EXPECT_FALSE(Arena(1000).file().there());
  Arena arena(1000, Arena::Memory::kShareable);
  ASSERT_TRUE(arena.file().there());
  MappedPages pages(arena.file(), 0, arena.file().numBytes(), false);
  const float* seen = reinterpret_cast<const float*>(pages.data());
  EXPECT_EQ(seen[999], 0.0f);
  arena.all()[999] = 3;
  EXPECT_EQ(seen[999], 3.0f);
}

}  // namespace
}  // namespace bloomery
