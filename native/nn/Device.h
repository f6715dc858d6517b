// What computes networks. Whoever trains or predicts asks for a device by name and sees nothing but plans, so that one
// more device is one more class behind `deviceNamed`. Devices are made once, have no state and may be shared.
#pragma once

#include <string>
#include <vector>

#include "nn/Plan.h"

namespace bloomery::nn {

class Device {
 public:
  virtual ~Device() = default;

  // `parameters` (and `gradients`, unused for inference) are laid out by graph.parameters().layout() and must outlive
  // the plan, as must the graph.
  virtual std::unique_ptr<Plan> makePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                         const PlanOptions& options) const = 0;

  // For plans of this device, all with the same parameters; null where plans have no use for it.
  virtual std::unique_ptr<FixedParameters> fixParameters() const { return nullptr; }

  // memoryBytes() of such a plan, planned on this machine but not allocated.
  virtual size_t activationBytes(const network::Graph& graph, int64_t batchSize, bool training) const = 0;
};

// "cpu" is the fast one; "reference" has plain loops, for tests. A UserError names the nearest known one.
const Device& deviceNamed(const std::string& name);
// ThreadSanitizer sees nothing of what oneDNN reads and writes, and so would miss races with it.
#ifdef __SANITIZE_THREAD__
inline constexpr const char* kDefaultDevice = "reference";
#else
inline constexpr const char* kDefaultDevice = "cpu";
#endif

}  // namespace bloomery::nn
