#include "train/StepPlan.h"

#include <chrono>

#include "comm/Bucketer.h"
#include "train/StepTail.h"

namespace bloomery::train {

namespace {

size_t gradientFloats(const TaskSpec& task, int ranks, size_t numSparse) {
  return task.graph.parameters().layout().numFloats() + StepTail::numFloats(task.training.heads.size()) +
         comm::Bucketer::numCounts(numSparse, ranks);
}

}  // namespace

void GroupReducer::add(std::span<double> values) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  comm::Activity::For what(communicator_->activity(), "batch statistics");
  communicator_->allreduce(values, deadline_->timeout());
  seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

StepPlan::StepPlan(const TaskSpec& task, const Arena& parameters, int ranks, StepProfile* profile, int64_t sparseFloats)
    : batchSize(task.training.batchSizeOf(task.worker.rank, task.worker.size)),
      layout(task.graph.parameters().layout()),
      gradients(gradientFloats(task, ranks, sparseSlices(task.graph.parameters(), sparseFloats).size()),
                ranks > 1 ? Arena::Memory::kShareable : Arena::Memory::kOwn),
      rows(gradients, layout, sparseSlices(task.graph.parameters(), sparseFloats)),
      plan(task.worker.computing().makePlan(
          task.graph, parameters, &gradients,
          {batchSize, true, task.training.seed, profile == nullptr ? nullptr : &profile->plan, &reducer, &rows})) {}

}  // namespace bloomery::train
