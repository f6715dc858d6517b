#include "train/Describe.h"

#include "base/JsonValue.h"
#include "network/Summary.h"
#include "nn/Plan.h"
#include "train/TaskSpec.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {

std::string describe(const std::string& text) {
  TaskSpec task = TaskSpec::parse(text);
  Json result = network::describe(task.graph);
  size_t parameters = task.graph.parameters().layout().numFloats() * sizeof(float);
  int64_t batchSize = task.training.batchSizeOf(task.worker.rank, task.worker.size);
  size_t activations = nn::estimateActivationBytes(task.graph, batchSize, true);
  size_t gradients = parameters * (task.training.backwardPassesPerStep > 1 ? 2 : 1);
  size_t optimizer = parameters * optim::numStateArenas(task.training.updates);
  size_t batches = 0;
  for (const data::FeatureFormat& feature : task.featuresFormat().features) {
    batches += static_cast<size_t>(kPrefetchDepth * batchSize * feature.count) * sizeof(float);
  }
  result["memory"] = {
      {"parameters", parameters}, {"gradients", gradients},
      {"optimizer", optimizer},   {"activations", activations},
      {"batches", batches},       {"total", parameters + gradients + optimizer + activations + batches}};
  result["training"] = task.training.toJson();
  return result.dump();
}

}  // namespace bloomery::train
