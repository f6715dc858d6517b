#include "train/ExportOnnx.h"

#include "checkpoint/Safetensors.h"
#include "onnx/Export.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

std::string exportOnnx(const std::string& task, std::span<const std::byte> weights) {
  TaskSpec spec = TaskSpec::parse(task);
  ArenaLayout layout = spec.graph.parameters().layout();
  Arena parameters(layout);
  checkpoint::readSafetensors(weights, layout, parameters);
  return onnx::exportNetwork(spec.graph, parameters);
}

}  // namespace bloomery::train
