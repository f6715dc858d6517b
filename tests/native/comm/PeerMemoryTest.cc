#include "comm/host/PeerMemory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace bloomery::comm {
namespace {

// Calls body() in a process of its own; whether it returned true.
template <typename Body>
bool inAnotherProcess(Body body) {
  pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(PeerMemory, isReadFromAnotherProcess) {
  MemoryMark mark;
  std::vector<std::byte> values(3000000, std::byte{7});
  MemoryPlace place = mark.place();
  auto address = reinterpret_cast<uint64_t>(values.data());
  EXPECT_TRUE(inAnotherProcess([&] {
    std::vector<std::byte> own(values.size());
    std::fill(values.begin(), values.end(), std::byte{1});  // the child's copy
    auto memory = PeerMemory::find(place);
    if (memory) memory->read(address, own);
    return memory && own == std::vector<std::byte>(own.size(), std::byte{7});
  }));
}

TEST(PeerMemory, isNotFoundWhereItIsNotThisRanks) {
  MemoryMark mark;
  ASSERT_TRUE(PeerMemory::find(mark.place()));
  EXPECT_FALSE(PeerMemory::find({})) << "nobody's";
  MemoryPlace place = mark.place();
  ++place.network;
  EXPECT_FALSE(PeerMemory::find(place)) << "behind another network";
  place = mark.place();
  place.bytes[3] ^= std::byte{1};
  EXPECT_FALSE(PeerMemory::find(place)) << "another process that has the number";
  place = mark.place();
  place.mark = 16;
  EXPECT_FALSE(PeerMemory::find(place)) << "nothing at the address";
  place = mark.place();
  place.process = 1 << 30;
  EXPECT_FALSE(PeerMemory::find(place)) << "no such process";
}

TEST(PeerMemory, isNotFoundByAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "cannot become another user";
  MemoryMark mark;
  MemoryPlace place = mark.place();
  EXPECT_FALSE(inAnotherProcess([&] { return setuid(65534) == 0 && PeerMemory::find(place); }));
}

TEST(PeerMemory, cannotBeReadWhereNothingIs) {
  MemoryMark mark;
  std::vector<std::byte> bytes(100);
  try {
    PeerMemory::find(mark.place())->read(16, bytes);
    FAIL() << "it was read";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), EFAULT);
  }
}

}  // namespace
}  // namespace bloomery::comm
