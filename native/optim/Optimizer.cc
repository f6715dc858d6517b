#include "optim/Optimizer.h"

#include "optim/Kinds.h"

namespace bloomery::optim {

std::unique_ptr<Optimizer> makeOptimizer(const OptimizerSpec& spec, size_t numFloats, SimdLevel level) {
  return std::visit([&](const auto& any) { return makeOptimizer(any, numFloats, level); }, spec);
}

}  // namespace bloomery::optim
