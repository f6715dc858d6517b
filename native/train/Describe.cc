#include "train/Describe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/JsonValue.h"
#include "network/Summary.h"
#include "train/LoadedRows.h"
#include "train/TaskSpec.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {

namespace {

// In bytes, of one worker.
struct Memory {
  size_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, batches = 0;

  size_t total() const { return parameters + gradients + optimizer + activations + batches; }
  Json toJson() const {
    return {{"parameters", parameters},   {"gradients", gradients}, {"optimizer", optimizer},
            {"activations", activations}, {"batches", batches},     {"total", total()}};
  }
};

Memory memoryOf(const TaskSpec& task, int64_t batchSize) {
  Memory memory;
  memory.parameters = task.graph.parameters().layout().numFloats() * sizeof(float);
  memory.gradients = memory.parameters * (task.training.backwardPassesPerStep > 1 ? 2 : 1);
  memory.optimizer = memory.parameters * optim::numStateArenas(task.training.updates);
  memory.activations = task.worker.computing().activationBytes(task.graph, batchSize, true);
  for (const data::FeatureFormat& feature : task.featuresFormat().features) {
    memory.batches += static_cast<size_t>(kPrefetchDepth * batchSize * feature.count) * sizeof(float);
  }
  if (task.training.stopping.restoresBest) memory.parameters *= 2;
  return memory;
}

// The largest batch within the budget, 0 when not even one row fits: this size was planned and fits, and the next one
// was planned and does not. Memory grows with the batch in a nearly straight line, so a line through the sizes tried so
// far finds the place with a few plans; halves are for where it does not.
class BatchSearch {
 public:
  BatchSearch(const TaskSpec& task, int64_t budget) : task_(task), budget_(static_cast<double>(budget)) {}

  int64_t largest() {
    constexpr int64_t kSecondTry = 16;
    int64_t fits = 0, tooLarge = std::min(task_.graph.largestBatchSize(), kMaxBatchSize) + 1;
    for (int tries = 0; tooLarge - fits > 1; ++tries) {
      int64_t middle = fits + (tooLarge - fits) / 2, next = tries == 0 ? 1 : tries == 1 ? kSecondTry : onLine(middle);
      if (tries > 10) next = middle;
      next = std::clamp(next, fits + 1, tooLarge - 1);
      if (bytesOf(next) <= budget_) {
        fits = next;
      } else {
        tooLarge = next;
      }
    }
    return fits;
  }

 private:
  double bytesOf(int64_t batchSize) {
    auto [found, added] = tried_.try_emplace(batchSize, 0.0);
    if (added) found->second = static_cast<double>(memoryOf(task_, batchSize).total());
    return found->second;
  }

  // Where the line through the two nearest sizes meets the budget; `otherwise` where it does not rise.
  int64_t onLine(int64_t otherwise) const {
    if (tried_.size() < 2) return otherwise;
    auto above = std::find_if(tried_.begin(), tried_.end(), [&](const auto& size) { return size.second > budget_; });
    if (above == tried_.end()) --above;
    if (above == tried_.begin()) ++above;
    auto below = std::prev(above);
    double slope = (above->second - below->second) / static_cast<double>(above->first - below->first);
    if (!(slope > 0)) return otherwise;
    double place = static_cast<double>(below->first) + (budget_ - below->second) / slope;
    // A plan of the size itself and one of the next: the second try is often the last.
    int64_t size = static_cast<int64_t>(std::min(place, static_cast<double>(kMaxBatchSize)));
    return tried_.contains(size) ? size + 1 : size;
  }

  const TaskSpec& task_;
  double budget_;
  std::map<int64_t, double> tried_;  // bytes by batch size
};

}  // namespace

std::string describe(const std::string& text) {
  TaskSpec task = TaskSpec::parse(text);
  Json result = network::describe(task.graph);
  result["memory"] = memoryOf(task, task.training.batchSizeOf(task.worker.rank, task.worker.size)).toJson();
  result["training"] = task.training.toJson();
  std::optional<std::string> loadsFirst = whyRowsLoadFirst(task);
  result["streams"] = !loadsFirst;
  if (loadsFirst) result["loadsFirst"] = *loadsFirst;
  result["shuffleBuffer"] = shuffleBufferOf(task);
  result["kindOfRows"] = kindOfRows(task);
  if (task.memoryBudget) result["largestBatchSize"] = BatchSearch(task, *task.memoryBudget).largest();
  return result.dump();
}

}  // namespace bloomery::train
