// Ranks in processes of their own, and what the others see when one is killed or stopped.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr int kEndless = 1000000000;

class ProcessesTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomery-ranks-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    for (pid_t process : processes_) {
      if (process > 0) kill(process, SIGKILL), waitpid(process, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }

  void start(int size, const std::string& operation, int steps, int timeoutMillis) {
    auto credentials = issueCredentials(size, 0, GetParam() == "encrypted");
    for (int rank = 0; rank < size; ++rank) {
      std::ofstream(folder_ / (std::to_string(rank) + ".credentials")) << credentials[static_cast<size_t>(rank)];
      std::string arguments[] = {BLOOMERY_RANK_PROGRAM,
                                 std::to_string(rank),
                                 std::to_string(size),
                                 folder_.string(),
                                 operation,
                                 std::to_string(steps),
                                 std::to_string(timeoutMillis),
                                 GetParam()};
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      pid_t process = 0;
      ASSERT_EQ(posix_spawn(&process, BLOOMERY_RANK_PROGRAM, nullptr, nullptr, pointers.data(), environ), 0);
      processes_.push_back(process);
    }
  }
  void waitTillAllRun() {
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
      auto sign = folder_ / (std::to_string(rank) + ".running");
      while (!std::filesystem::exists(sign)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // The exit code, or minus the signal that ended it.
  int end(size_t rank) {
    int status = 0;
    waitpid(std::exchange(processes_[rank], 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::filesystem::path folder_;
  std::vector<pid_t> processes_;
};

INSTANTIATE_TEST_SUITE_P(Wires, ProcessesTest, testing::Values("shared", "memory", "sockets", "encrypted"),
                         [](const auto& test) { return test.param; });

TEST_P(ProcessesTest, threeProcessesSumTogether) {
  start(3, "allreduce", 50, 20000);
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(end(rank), 0);
}

TEST_P(ProcessesTest, killedProcessIsLostAtOnce) {
  for (std::string operation : {"allreduce", "broadcast"}) {
    for (size_t victim = 0; victim < 3; ++victim) {
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directory(folder_);
      processes_.clear();
      start(3, operation, kEndless, 20000);
      waitTillAllRun();
      auto killed = Clock::now();
      kill(processes_[victim], SIGKILL);
      for (size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(end(rank), rank == victim ? -SIGKILL : 3);
      EXPECT_LT(secondsSince(killed), 2.0) << operation << ", victim " << victim;
    }
  }
}

TEST_P(ProcessesTest, stoppedProcessIsLostAfterTheTimeout) {
  start(3, "allreduce", kEndless, 800);
  waitTillAllRun();
  kill(processes_[1], SIGSTOP);
  auto stopped = Clock::now();
  EXPECT_EQ(end(0), 3);
  EXPECT_EQ(end(2), 3);
  EXPECT_LT(secondsSince(stopped), 3.0);
  kill(processes_[1], SIGCONT);
  EXPECT_EQ(end(1), 3);
}

}  // namespace
}  // namespace bloomery::comm
