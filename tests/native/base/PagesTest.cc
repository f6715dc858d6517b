#include "base/Pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
extern "C" int __asan_address_is_poisoned(const volatile void* address);  // of AddressSanitizer's library
#endif

namespace bloomery {
namespace {

// What the allocator kept would still be there. AddressSanitizer keeps it, too, and watches that nobody uses it.
bool isGone(void* memory, size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  return bytes > 0 && __asan_address_is_poisoned(memory) != 0;
#else
  std::vector<unsigned char> held(bytes / 4096);
  return mincore(memory, bytes, held.data()) != 0;
#endif
}

TEST(Pages, areAlignedAndWritableWhateverTheirSize) {
  for (size_t bytes : {size_t{1}, size_t{100}, size_t{262143}, size_t{262144}, size_t{262145}, size_t{5 << 20}}) {
    for (size_t alignment : {size_t{64}, size_t{4096}, size_t{2 << 20}}) {
      void* memory = takePages(bytes, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u) << bytes << " bytes by " << alignment;
      std::memset(memory, 7, bytes);
      returnPages(memory, bytes);
    }
  }
  returnPages(nullptr, 0);
}

TEST(Pages, goBackToTheSystemAtOnce) {
  for (size_t alignment : {size_t{64}, size_t{2 << 20}}) {
    constexpr size_t kBytes = 1 << 20;
    void* memory = takePages(kBytes, alignment);
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 7, kBytes);
    ASSERT_FALSE(isGone(memory, kBytes));
    returnPages(memory, kBytes);
    EXPECT_TRUE(isGone(memory, kBytes)) << "aligned to " << alignment;
  }
}

#ifndef __SANITIZE_ADDRESS__
size_t numPresent(void* memory, size_t bytes) {
  std::vector<unsigned char> held(bytes / 4096);
  if (mincore(memory, bytes, held.data()) != 0) return 0;
  return static_cast<size_t>(std::ranges::count(held, 1));
}

TEST(Pages, comeAllAtOnceWhereTheSystemCan) {
  constexpr size_t kBytes = 1 << 20;
  constexpr int kPopulateWrite = 23;
  bool can = madvise(nullptr, 0, kPopulateWrite) == 0;
  void* memory = takePages(kBytes, 64);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(numPresent(memory, kBytes), 0u);
  bringPages(memory, kBytes);
  EXPECT_EQ(numPresent(memory, kBytes), can ? kBytes / 4096 : 0);
  returnPages(memory, kBytes);
}
#endif

TEST(Pages, keepWhatTheyHoldWhenTheyAreAskedForAgain) {
  for (size_t count : {size_t{100}, size_t{1 << 20}}) {
    std::vector<unsigned char> wanted(count, 7);
    void* memory = takePages(count, 64);
    ASSERT_NE(memory, nullptr);
    std::memcpy(memory, wanted.data(), count);
    bringPages(memory, count);
    EXPECT_EQ(std::memcmp(memory, wanted.data(), count), 0) << count;
    returnPages(memory, count);
  }
}

TEST(Pages, tellWhenMemoryIsOut) { EXPECT_EQ(takePages(size_t{1} << 60, 64), nullptr); }

}  // namespace
}  // namespace bloomery
