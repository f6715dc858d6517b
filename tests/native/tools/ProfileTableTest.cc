#include "tools/ProfileTable.h"

#include <gtest/gtest.h>

#include <sstream>

namespace bloomery::tools {
namespace {

// Of a line of the table: the words behind the name.
std::vector<std::string> lineOf(const std::string& table, const std::string& name) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ")) continue;
    std::istringstream words(line.substr(name.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(ProfileTable, givesMillisecondsSpeedsAndShares) {
  train::StepProfile profile;
  profile.plan.layers = {{"in", "Input"}, {"conv", "Conv2D"}};
  nn::LayerTimes& conv = profile.plan.layers[1];
  conv.forward = {2e9, 1e9};
  conv.backward = {4e9, 2e9};
  conv.forwardSeconds = 0.2;
  conv.backwardSeconds = 0.3;
  profile.plan.forwardPasses = profile.plan.backwardPasses = 10;
  profile.steps = 10;
  profile.lossSeconds = 0.1;
  profile.updateSeconds = 0.2;
  profile.allreduceSeconds = 0.05;
  profile.waitSeconds = 0.05;
  profile.seconds = 1.0;
  std::string table = profileTable(profile, 96);
  using Words = std::vector<std::string>;
  EXPECT_EQ(lineOf(table, "layer"), (Words{"kind", "forward", "ms", "backward", "ms", "GFLOP/s", "GB/s", "share"}));
  EXPECT_EQ(lineOf(table, "conv"), (Words{"Conv2D", "20.000", "30.000", "120.0", "60.0", "50.0%"}));
  EXPECT_EQ(lineOf(table, "loss"), (Words{"-", "10.000", "-", "-", "-", "10.0%"}));
  EXPECT_EQ(lineOf(table, "optimizer"), (Words{"-", "20.000", "-", "-", "-", "20.0%"}));
  EXPECT_EQ(lineOf(table, "allreduce"), (Words{"-", "5.000", "-", "-", "-", "5.0%"}));
  EXPECT_EQ(lineOf(table, "wait for data"), (Words{"-", "5.000", "-", "-", "-", "5.0%"}));
  EXPECT_EQ(lineOf(table, "other"), (Words{"-", "10.000", "-", "-", "-", "10.0%"}));
  EXPECT_EQ(lineOf(table, "in"), Words{}) << "took no time";
  EXPECT_NE(table.find("total: 100.000 ms a step of 96 rows, 10 steps\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace bloomery::tools
