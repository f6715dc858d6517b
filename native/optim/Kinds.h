// The optimizers by kind; everybody else makes them through makeOptimizer.
#pragma once

#include <memory>

#include "base/Simd.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

std::unique_ptr<Optimizer> makeOptimizer(const Sgd& spec, size_t numFloats, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Adam& spec, size_t numFloats, SimdLevel level);
std::unique_ptr<Optimizer> makeOptimizer(const Adadelta& spec, size_t numFloats, SimdLevel level);

}  // namespace bloomery::optim
