#include "base/MemoryFile.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/AnotherProcess.h"

namespace bloomery {
namespace {

constexpr size_t kBytes = 1 << 16;

TEST(MemoryFile, isTheSameMemoryInAnotherProcess) {
  MemoryFile file(kBytes);
  ASSERT_TRUE(file.there());
  MappedPages pages(file, 0, kBytes, true);
  std::memset(pages.data(), 7, kBytes);
  pid_t self = getpid();
  EXPECT_TRUE(inAnotherProcess([&] {
    MemoryFile found = MemoryFile::of(self, file.descriptor(), kBytes);
    if (!found.there()) return false;
    MappedPages there(found, 4096, kBytes - 4096, true);
    found = {};  // pages stay
    bool was = there.data()[0] == std::byte{7} && there.data()[kBytes - 4097] == std::byte{7};
    there.data()[0] = std::byte{9};
    return was;
  }));
  EXPECT_EQ(pages.data()[4096], std::byte{9});
  EXPECT_EQ(pages.data()[4095], std::byte{7});
}

TEST(MemoryFile, beginsWithZeros) {
  MemoryFile file(kBytes);
  MappedPages pages(file, 0, kBytes, false);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(pages.data()[i], std::byte{0});
}

TEST(MemoryFile, keepsItsSize) {
  MemoryFile file(kBytes);
  EXPECT_NE(ftruncate(file.descriptor(), 100), 0);
  EXPECT_NE(ftruncate(file.descriptor(), 2 * kBytes), 0);
}

// Nothing but such a file is opened, whatever a peer says.
TEST(MemoryFile, isNotFoundWhereThereIsNoneOfThisSize) {
  MemoryFile file(kBytes);
  EXPECT_TRUE(MemoryFile::of(getpid(), file.descriptor(), kBytes).there());
  EXPECT_FALSE(MemoryFile::of(getpid(), file.descriptor(), kBytes / 2).there()) << "another size";
  EXPECT_FALSE(MemoryFile::of(getpid(), 987654, kBytes).there()) << "no such descriptor";
  EXPECT_FALSE(MemoryFile::of(1 << 30, file.descriptor(), kBytes).there()) << "no such process";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(MemoryFile::of(getpid(), ends[0], kBytes).there()) << "a pipe";
  int unsealed = memfd_create("bloomery", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(unsealed, kBytes), 0);
  EXPECT_FALSE(MemoryFile::of(getpid(), unsealed, kBytes).there()) << "one that may shrink";
  for (int descriptor : {ends[0], ends[1], unsealed}) close(descriptor);
}

TEST(MemoryFile, isNotFoundByAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "cannot become another user";
  MemoryFile file(kBytes);
  pid_t self = getpid();
  EXPECT_FALSE(
      inAnotherProcess([&] { return setuid(65534) == 0 && MemoryFile::of(self, file.descriptor(), kBytes).there(); }));
}

TEST(MemoryFile, isClosedByItsOwner) {
  MemoryFile file(kBytes);
  int descriptor = file.descriptor();
  MemoryFile other = std::move(file);
  EXPECT_FALSE(file.there());
  EXPECT_EQ(other.descriptor(), descriptor);
  other = {};
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

}  // namespace
}  // namespace bloomery
