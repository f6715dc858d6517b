#include "nn/dnnl/CpuEngine.h"

#include "base/Error.h"
#include "base/Instructions.h"

namespace bloomery::nn {

namespace {

Instructions limitKernels(Instructions level) {
  if (level == Instructions::kAvx512) return level;
  auto isa = level == Instructions::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
  check(dnnl::set_max_cpu_isa(isa) == dnnl::status::success, "oneDNN does not take the limit ", nameOf(level));
  return level;
}

}  // namespace

dnnl::engine cpuEngine() {
  [[maybe_unused]] static const Instructions level = limitKernels(instructions().fix());
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

}  // namespace bloomery::nn
