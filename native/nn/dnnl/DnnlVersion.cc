#include "nn/dnnl/DnnlVersion.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "base/Error.h"

namespace bloomery::nn {

std::string dnnlVersion() {
  const dnnl_version_t* version = dnnl_version();
  return message(version->major, ".", version->minor, ".", version->patch);
}

std::string dnnlInstructionSet() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx2_vnni_2:
      return "AVX2";
    default:
      return "AVX-512";
  }
}

}  // namespace bloomery::nn
