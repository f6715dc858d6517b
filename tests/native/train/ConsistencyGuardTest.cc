#include "train/ConsistencyGuard.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/Error.h"
#include "comm/local/LocalGroup.h"

namespace bloomery::train {
namespace {

struct Change {
  int rank;
  size_t slice;
  size_t element;
};

struct Case {
  const char* name;
  int ranks;
  std::vector<Change> changes;
  std::string error = "";
};

class ConsistencyGuard : public testing::TestWithParam<Case> {};

TEST_P(ConsistencyGuard, namesTheRanksAndTheFirstParameterThatDiffers) {
  const Case& test = GetParam();
  ArenaLayout layout;
  layout.add("conv/kernel", {3, 3});
  layout.add("conv/bias", {5});
  layout.add("dense/kernel", {40});
  auto group = comm::makeLocalGroup(test.ranks);
  std::vector<std::thread> threads;
  std::vector<std::string> errors(group.size());
  for (int rank = 0; rank < test.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto index = static_cast<size_t>(rank);
      Arena parameters(layout);
      for (const Change& change : test.changes) {
        if (change.rank == rank) parameters.view(layout.slices()[change.slice]).data[change.element] = 1e-30f;
      }
      try {
        checkEqualParameters(layout, parameters, *group[index], comm::Timeout(20000), "after epoch 3");
      } catch (const InternalError& error) {
        errors[index] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, test.error);
}

INSTANTIATE_TEST_SUITE_P(
    Groups, ConsistencyGuard,
    testing::Values(Case{"equal", 3, {}}, Case{"alone", 1, {{0, 0, 0}}}, Case{"allAlike", 2, {{0, 1, 2}, {1, 1, 2}}},
                    Case{"second",
                         2,
                         {{1, 1, 4}},
                         "Parameters differ between workers after epoch 3: first in conv/bias, rank 1 of 2"},
                    Case{"firstOfThree",
                         3,
                         {{0, 2, 39}, {0, 0, 8}},
                         "Parameters differ between workers after epoch 3: first in conv/kernel, rank 0 of 3"},
                    Case{"twoOfFive",
                         5,
                         {{1, 2, 7}, {4, 2, 7}},
                         "Parameters differ between workers after epoch 3: first in dense/kernel, rank 1, 4 of 5"},
                    Case{"padding",
                         3,
                         {{2, 1, 6}},
                         "Parameters differ between workers after epoch 3: first in padding, rank 2 of 3"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bloomery::train
