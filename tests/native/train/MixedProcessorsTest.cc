// Workers on processors with other instructions than the others have: each is a process, limited by its environment.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/Error.h"
#include "base/Instructions.h"
#include "base/TemporaryFolder.h"
#include "nn/Device.h"
#include "tools/Files.h"
#include "train/InstructionAgreement.h"

namespace bloomery::train {
namespace {

namespace files = std::filesystem;

struct Ended {
  int code;
  std::string said, weights, log;
};

class MixedProcessors : public testing::Test {
 protected:
  // A training of one worker for each limit, where empty is none; by rank.
  std::vector<Ended> train(const std::string& name, const std::vector<std::string>& limits, const std::string& epochs,
                           const files::path& resume = {}) {
    files::create_directories(folder_ / name);
    std::vector<pid_t> processes;
    for (size_t rank = 0; rank < limits.size(); ++rank) processes.push_back(start(name, limits, rank, epochs, resume));
    std::vector<Ended> ended;
    for (size_t rank = 0; rank < limits.size(); ++rank) {
      int status = 0;
      waitpid(processes[rank], &status, 0);
      auto left = [&](const char* what) {
        files::path file = folder_ / name / message(rank, what);
        return files::exists(file) ? tools::readFile(file.string()) : std::string();
      };
      ended.push_back({WIFEXITED(status) ? WEXITSTATUS(status) : -1, left(".failed"), left(".weights"), left(".log")});
    }
    return ended;
  }
  files::path newestOf(const std::string& name) const {
    files::path newest;
    for (const auto& entry : files::directory_iterator(checkpoints(name))) newest = std::max(newest, entry.path());
    return newest;
  }

 private:
  files::path checkpoints(const std::string& name) const { return folder_ / (name + "-checkpoints"); }
  pid_t start(const std::string& name, const std::vector<std::string>& limits, size_t rank, const std::string& epochs,
              const files::path& resume) {
    std::vector<std::string> words = {
        BLOOMERY_TRAIN_RANK, message(rank), message(limits.size()), folder_ / name, "20", epochs, checkpoints(name)};
    if (!resume.empty()) words.push_back(resume);
    std::vector<char*> arguments, environment;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string limit = "BLOOMERY_INSTRUCTIONS=" + limits[rank];
    for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
    environment.push_back(limit.data());
    environment.push_back(nullptr);
    pid_t process = 0;
    EXPECT_EQ(posix_spawn(&process, BLOOMERY_TRAIN_RANK, nullptr, nullptr, arguments.data(), environment.data()), 0);
    return process;
  }

  TemporaryFolder temporary_;
  files::path folder_ = temporary_.path();
};

TEST_F(MixedProcessors, computeWithWhatTheLeastOfThemHas) {
  std::string best = nameOf(instructions().level());
  auto all = train("all", {"", ""}, "2"), none = train("none", {"baseline", "baseline"}, "2"),
       mixed = train("mixed", {"", "baseline"}, "2");
  for (const auto& ended : {all, none, mixed}) {
    for (const Ended& one : ended) ASSERT_EQ(one.code, 0) << one.said;
    EXPECT_EQ(ended[0].weights, ended[1].weights);
  }
  EXPECT_TRUE(mixed[0].weights == none[0].weights);
  // The plain loops give the same bits on every level.
  EXPECT_EQ(all[0].weights != none[0].weights, std::string(nn::kDefaultDevice) == "cpu");
  EXPECT_EQ(mixed[0].log,
            "Not all workers have " + best + ": rank 1 of 2 has baseline. All are to compute with that\n");
  EXPECT_EQ(mixed[1].log, "");
  EXPECT_EQ(all[0].log, "");
}

TEST_F(MixedProcessors, goOnWithTheInstructionsOfTheCheckpoint) {
  auto whole = train("whole", {"baseline", "baseline"}, "4"), half = train("half", {"baseline", "baseline"}, "2"),
       rest = train("rest", {"", ""}, "4", newestOf("half"));
  for (const auto& ended : {whole, half, rest}) {
    for (const Ended& one : ended) ASSERT_EQ(one.code, 0) << one.said;
  }
  EXPECT_TRUE(rest[0].weights == whole[0].weights);
  EXPECT_EQ(rest[0].log, "");
}

TEST_F(MixedProcessors, sayWhenTheyCannotGoOnWithThose) {
  train("half", {"", ""}, "2");
  auto rest = train("rest", {"", "baseline"}, "4", newestOf("half"));
  for (const Ended& one : rest) {
    EXPECT_EQ(one.code, 0) << one.said;
    EXPECT_NE(one.log.find("Checkpoint was made with " + nameOf(instructions().level()) +
                           " instructions, and training goes on with baseline: the last bits may differ"),
              std::string::npos)
        << one.log;
  }
}

TEST_F(MixedProcessors, refuseALimitThatIsNone) {
  auto ended = train("typo", {"avx513"}, "1");
  EXPECT_EQ(ended[0].code, 5);
  EXPECT_EQ(ended[0].said, "Unknown BLOOMERY_INSTRUCTIONS: avx513, nearest known: avx512");
}

TEST_F(MixedProcessors, sayWhoCannotBeLoweredAnyMore) {
  instructions().fix();
  Log log;
  std::string own = withInstructions("b"), other = own;
  other[0] = static_cast<char>(Instructions::kBaseline);
  EXPECT_EQ(agreeOnInstructions({other, own}, 1, log), (std::vector<std::string>{"b", "b"}));
  std::vector<std::string> lines = log.drain();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("Rank 1 still computes with " + nameOf(instructions().level()) +
                                   ", as its process did before, and not with baseline: "))
      << lines[0];
  EXPECT_THROW(agreeOnInstructions({own, ""}, 0, log), InternalError);
  EXPECT_THROW(agreeOnInstructions({own, "z"}, 0, log), InternalError);
}

}  // namespace
}  // namespace bloomery::train
