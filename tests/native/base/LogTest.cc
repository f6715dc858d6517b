#include "base/Log.h"

#include <gtest/gtest.h>

#include <thread>

namespace bloomery {
namespace {

TEST(Log, givesLinesOnceAndInOrder) {
  Log log;
  log.line("a");
  log.line("b");
  EXPECT_EQ(log.drain(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(log.drain().empty());
}

TEST(Log, dropsTheOldestLinesWhenNobodyDrains) {
  Log log;
  for (int i = 0; i < 1500; ++i) log.line(std::to_string(i));
  auto lines = log.drain();
  ASSERT_EQ(lines.size(), 1000u);
  EXPECT_EQ(lines.front(), "500");
  EXPECT_EQ(lines.back(), "1499");
}

TEST(Log, takesLinesFromManyThreads) {
  Log log;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) log.line("x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.drain().size(), 800u);
}

}  // namespace
}  // namespace bloomery
