#include "base/NamedThread.h"

#include <gtest/gtest.h>

#include <future>

namespace bloomery {
namespace {

TEST(NamedThread, isCountedWhileItRuns) {
  ASSERT_EQ(countNamedThreads(), 0);
  std::promise<void> running, finish;
  std::thread plain([] {});
  plain.join();
  std::thread thread = namedThread("bloomery-test", [&] {
    running.set_value();
    finish.get_future().wait();
  });
  running.get_future().wait();
  EXPECT_EQ(countNamedThreads(), 1);
  finish.set_value();
  thread.join();
  EXPECT_EQ(countNamedThreads(), 0);
}

}  // namespace
}  // namespace bloomery
