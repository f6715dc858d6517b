#include "train/StepDeadline.h"

#include <gtest/gtest.h>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

using std::chrono::milliseconds;

TEST(StepDeadline, isStepTimeoutAndFollowsTheLongestOfTheLastSteps) {
  StepDeadline deadline(2);
  EXPECT_EQ(deadline.timeout(), milliseconds(2000));
  deadline.stepTook(0.1);
  EXPECT_EQ(deadline.timeout(), milliseconds(2000)) << "a floor";
  deadline.stepTook(3);
  EXPECT_EQ(deadline.timeout(), milliseconds(15000));
  for (size_t i = 1; i < StepDeadline::kSteps; ++i) deadline.stepTook(0.5);
  EXPECT_EQ(deadline.timeout(), milliseconds(15000)) << "the long step is one of the last ones";
  deadline.stepTook(0.5);
  EXPECT_EQ(deadline.timeout(), milliseconds(2500));
}

TEST(StepDeadline, aStepUnderWayCountsAsFarAsItHasCome) {
  StepDeadline deadline(2);
  deadline.stepTakes(10);
  EXPECT_EQ(deadline.timeout(), milliseconds(50000));
  deadline.stepTakes(0);
  EXPECT_EQ(deadline.timeout(), milliseconds(2000));
}

// Says which rows a step has after a while, as a slow worker does.
class SlowRows final : public data::StepRows {
 public:
  SlowRows(std::vector<int> millis) : millis_(std::move(millis)) {}
  size_t next(std::span<int64_t> rows) override {
    if (step_ == millis_.size()) return 0;
    std::this_thread::sleep_for(milliseconds(millis_[step_++]));
    rows[0] = 0;
    return 1;
  }

 private:
  std::vector<int> millis_;
  size_t step_ = 0;
};

std::vector<WorkerRows> oneSlowWorker(const std::vector<int>& millis) {
  auto rows = [&](uint64_t id, const std::vector<int>& waits) {
    WorkerRows worker{.training = {id}};
    worker.steps = [waits](int64_t) { return std::make_unique<SlowRows>(waits); };
    return worker;
  };
  return {rows(0, std::vector<int>(millis.size(), 0)), rows(1, millis)};
}

constexpr const char* kTraining = R"({"epochs": 1, "batchSize": 1})";

TEST(StepDeadline, whereStepsAreSlowAStepMayBeSlowerThanStepTimeout) {
  auto results = trainTogether(kTraining, oneSlowWorker({0, 0, 350, 350, 1200, 0}), smallNetwork(), "", "0.6");
  EXPECT_EQ(results[0].parameters, results[1].parameters);
}

TEST(StepDeadline, whereStepsAreQuickASlowStepLosesItsWorker) {
  try {
    trainTogether(kTraining, oneSlowWorker({0, 0, 0, 0, 1200, 0}), smallNetwork(), "", "0.6");
    FAIL();
  } catch (const PeerLost& error) {
    EXPECT_NE(std::string(error.what()).find("during allreduce of bucket 1 of 1 ("), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bloomery::train
