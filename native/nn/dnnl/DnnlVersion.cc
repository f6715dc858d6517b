#include "nn/dnnl/DnnlVersion.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "base/Error.h"

namespace bloomery::nn {

std::string dnnlVersion() {
  const dnnl_version_t* version = dnnl_version();
  return message(version->major, ".", version->minor, ".", version->patch);
}

}  // namespace bloomery::nn
