#include "base/Pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace bloomery {
namespace {

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

// What the allocator keeps would still be there.
TEST(Pages, goBackToTheSystemAtOnce) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps what is freed";
#endif
  for (size_t alignment : {size_t{64}, size_t{2 << 20}}) {
    constexpr size_t kBytes = 1 << 20;
    void* memory = takePages(kBytes, alignment);
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 7, kBytes);
    unsigned char held[kBytes / 4096];
    ASSERT_EQ(mincore(memory, kBytes, held), 0);
    returnPages(memory, kBytes);
    EXPECT_NE(mincore(memory, kBytes, held), 0) << "aligned to " << alignment;
  }
}

TEST(Pages, tellWhenMemoryIsOut) { EXPECT_EQ(takePages(size_t{1} << 60, 64), nullptr); }

}  // namespace
}  // namespace bloomery
