// The programs behind scripts/bench, as they are called there.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/JsonValue.h"

namespace {

struct Output {
  int status;
  std::vector<bloomery::Json> lines;
};

std::pair<int, std::string> textOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int letter = fgetc(pipe); letter != EOF; letter = fgetc(pipe)) text += static_cast<char>(letter);
  return {pclose(pipe), text};
}

Output outputOf(const std::string& command) {
  auto [status, text] = textOf(command);
  Output output{status, {}};
  for (size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    output.lines.push_back(bloomery::Json::parse(text.substr(0, end)));
  }
  return output;
}

TEST(BenchPrograms, tellTheirUsageAndWhatIsWrong) {
  for (std::string program : {BLOOMERY_BENCH_ALLREDUCE_PROGRAM, BLOOMERY_BENCH_STEP_PROGRAM}) {
    auto [helped, usage] = textOf(program + " --help");
    EXPECT_EQ(helped, 0);
    EXPECT_TRUE(usage.starts_with(program.substr(program.rfind('/') + 1) + " ")) << usage;
    auto [failed, reason] = textOf(program + " --nonsense 1 2>&1");
    EXPECT_NE(failed, 0);
    EXPECT_EQ(reason, "Unknown option: --nonsense\n");
  }
}

TEST(BenchAllreduce, timesOursAndPlainGlooForEverySizeOnEveryNumberOfRanks) {
  for (int ranks : {2, 3}) {
    Output output = outputOf(std::string(BLOOMERY_BENCH_ALLREDUCE_PROGRAM) + " --largest 4096 --rounds 2 --seconds 0" +
                             " --ranks " + std::to_string(ranks));
    EXPECT_EQ(output.status, 0);
    ASSERT_EQ(output.lines.size(), 11u);
    int64_t bytes = 4;
    for (const bloomery::Json& line : output.lines) {
      EXPECT_EQ(line.at("ranks"), ranks);
      EXPECT_EQ(line.at("bytes"), bytes);
      EXPECT_EQ(line.at("bloomery").size(), 2u);
      EXPECT_EQ(line.at("gloo").size(), 2u);
      bytes *= 2;
    }
  }
}

TEST(BenchAllreduce, refusesASingleRank) {
  EXPECT_NE(outputOf(std::string(BLOOMERY_BENCH_ALLREDUCE_PROGRAM) + " --ranks 1 2>/dev/null").status, 0);
}

class BenchStep : public testing::Test {
 protected:
  // Of two workers.
  bloomery::Json answer(const std::string& more) const {
    std::string network =
        R"({"version": 1, "layers": [{"kind": "Input", "shape": [8]}, {"kind": "Dense", "units": 2}]})";
    Output output = outputOf("echo 'run 0.2' | " + std::string(BLOOMERY_BENCH_STEP_PROGRAM) +
                             " --network /dev/fd/3 --batch 4 --loss '\"mse\"' --workers 2 " + more + " 3<<'END'\n" +
                             network + "\nEND\n");
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(output.lines.size(), 1u);
    return output.lines.empty() ? bloomery::Json::object() : output.lines[0];
  }
};

TEST_F(BenchStep, workersThatTrainTogetherWaitForEachOther) {
  bloomery::Json together = answer("");
  EXPECT_GT(together.at("samplesPerSecond"), 0);
  EXPECT_GT(together.at("secondsPerStep"), 0);
  EXPECT_GT(together.at("exposedShare"), 0.01);
}

TEST_F(BenchStep, workersApartDoNot) {
  bloomery::Json apart = answer("--apart");
  EXPECT_GT(apart.at("samplesPerSecond"), 0);
  EXPECT_LT(apart.at("exposedShare"), 0.2);
}

}  // namespace
