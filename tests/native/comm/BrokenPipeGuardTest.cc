#include "comm/tcp/BrokenPipeGuard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace bloomery::comm {
namespace {

int writeIntoBrokenPipe() {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  ::close(ends[0]);
  char byte = 0;
  int result = ::write(ends[1], &byte, 1) == -1 ? errno : 0;
  ::close(ends[1]);
  return result;
}

bool isBlocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(BrokenPipeGuard, turnsTheSignalIntoAnErrorAndLeavesNoTrace) {
  ASSERT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);  // would end this program
  ASSERT_FALSE(isBlocked(SIGPIPE));
  {
    BrokenPipeGuard guard;
    EXPECT_TRUE(isBlocked(SIGPIPE));
    EXPECT_EQ(writeIntoBrokenPipe(), EPIPE);
    {
      BrokenPipeGuard inner;
      EXPECT_EQ(writeIntoBrokenPipe(), EPIPE);
    }
    EXPECT_TRUE(isBlocked(SIGPIPE));
  }
  EXPECT_FALSE(isBlocked(SIGPIPE));
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace bloomery::comm
