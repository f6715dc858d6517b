#include "optim/Optimizer.h"

#include "optim/Kinds.h"

namespace bloomery::optim {

std::unique_ptr<Optimizer> makeOptimizer(const OptimizerSpec& spec, const ArenaLayout& layout, SimdLevel level) {
  return std::visit([&](const auto& any) { return makeOptimizer(any, layout, level); }, spec);
}

}  // namespace bloomery::optim
