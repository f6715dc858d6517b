#include "base/RestingPages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/Rests.h"

namespace bloomery {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr size_t kBytes = 1 << 20, kAlignment = 64;

class RestingPages : public testing::Test {
 protected:
  RestingPages() { returnRestedPages(milliseconds(0)); }
  ~RestingPages() override { returnRestedPages(milliseconds(0)); }

  static void* filled(size_t bytes) {
    RestedPages pages = takeRestedPages(bytes, kAlignment);
    EXPECT_NE(pages.memory, nullptr);
    EXPECT_TRUE(pages.isFresh);
    std::memset(pages.memory, 7, bytes);
    return pages.memory;
  }
};

TEST_F(RestingPages, areTakenAgainBySizeAndAlignment) {
  void* memory = filled(kBytes);
  restPages(memory, kBytes, kAlignment);
  EXPECT_EQ(numRestingBytes(), kRests ? kBytes : 0);
  RestedPages again = takeRestedPages(kBytes, kAlignment);
  EXPECT_EQ(again.memory == memory, kRests);
  EXPECT_EQ(again.isFresh, !kRests);
  EXPECT_EQ(numRestingBytes(), 0u);
  std::memset(again.memory, 8, kBytes);
  restPages(again.memory, kBytes, kAlignment);
  constexpr size_t kPage = 4096;
  RestedPages other = takeRestedPages(kBytes, kPage);
  EXPECT_TRUE(other.isFresh);
  restPages(other.memory, kBytes, kPage);
}

TEST_F(RestingPages, giveWayToOtherSizes) {
  std::vector<void*> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(filled(kBytes));
  for (void* memory : taken) restPages(memory, kBytes, kAlignment);
  EXPECT_EQ(numRestingBytes(), kRests ? 4 * kBytes : 0);
  // Those that rest longest go, as many as are taken.
  RestedPages larger = takeRestedPages(kBytes + kBytes / 2, kAlignment);
  EXPECT_EQ(numRestingBytes(), kRests ? 2 * kBytes : 0);
  // Where that made more room than was taken, it is filled first.
  RestedPages small = takeRestedPages(kBytes / 2, kAlignment);
  EXPECT_TRUE(small.isFresh);
  EXPECT_EQ(numRestingBytes(), kRests ? 2 * kBytes : 0);
  RestedPages last = takeRestedPages(kBytes, kAlignment);
  EXPECT_EQ(last.isFresh, !kRests);
  EXPECT_TRUE(!kRests || last.memory == taken[3]);
  restPages(last.memory, kBytes, kAlignment);
  restPages(small.memory, kBytes / 2, kAlignment);
  restPages(larger.memory, kBytes + kBytes / 2, kAlignment);
  EXPECT_EQ(numRestingBytes(), kRests ? 4 * kBytes : 0);
}

TEST_F(RestingPages, goBackAfterAWhile) {
  restPages(filled(kBytes), kBytes, kAlignment);
  returnRestedPages(hours(1));
  EXPECT_EQ(numRestingBytes(), kRests ? kBytes : 0);
  returnRestedPages(milliseconds(0));
  EXPECT_EQ(numRestingBytes(), 0u);
}

TEST_F(RestingPages, areNotOfSmallBlocks) {
  void* memory = takeRestedPages(1000, kAlignment).memory;
  restPages(memory, 1000, kAlignment);
  restPages(nullptr, kBytes, kAlignment);
  EXPECT_EQ(numRestingBytes(), 0u);
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(RestingPages, areTheSystemsWhenItNeedsMemory) {
  void* memory = filled(kBytes);
  restPages(memory, kBytes, kAlignment);
  constexpr int kPageOut = 21;  // MADV_PAGEOUT: what the system does when memory is short
  if (madvise(memory, kBytes, kPageOut) != 0) GTEST_SKIP() << "this kernel cannot be asked to reclaim pages";
  RestedPages again = takeRestedPages(kBytes, kAlignment);
  ASSERT_EQ(again.memory, memory);
  std::vector<unsigned char> held(kBytes / 4096);
  ASSERT_EQ(mincore(memory, kBytes, held.data()), 0);
  EXPECT_LT(std::count(held.begin(), held.end(), 1), static_cast<long>(held.size()));
  std::memset(memory, 9, kBytes);
  restPages(memory, kBytes, kAlignment);
}
#endif

}  // namespace
}  // namespace bloomery
