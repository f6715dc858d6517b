#include "nn/Device.h"

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery::nn {

namespace {

class CpuDevice final : public Device {
 public:
  std::unique_ptr<Plan> makePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                 const PlanOptions& options) const override {
    return makeDnnlPlan(graph, parameters, gradients, options);
  }
  std::unique_ptr<FixedParameters> fixParameters() const override { return makeDnnlFixedParameters(); }
  size_t activationBytes(const network::Graph& graph, int64_t batchSize, bool training) const override {
    return estimateActivationBytes(graph, batchSize, training);
  }
};

class ReferenceDevice final : public Device {
 public:
  std::unique_ptr<Plan> makePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                 const PlanOptions& options) const override {
    return makeReferencePlan(graph, parameters, gradients, options);
  }
  // Every value, and in training its gradient, has a place of its own.
  size_t activationBytes(const network::Graph& graph, int64_t batchSize, bool training) const override {
    int64_t numFloats = 0;
    for (const network::Node& node : graph.nodes()) numFloats += batchSize * node.output.numElements();
    return static_cast<size_t>(numFloats) * sizeof(float) * (training ? 2 : 1);
  }
};

}  // namespace

const Device& deviceNamed(const std::string& name) {
  static const CpuDevice cpu;
  static const ReferenceDevice reference;
  if (name == "cpu") return cpu;
  if (name == "reference") return reference;
  throw UserError(unknownName("device", name, {"cpu", "reference"}));
}

}  // namespace bloomery::nn
