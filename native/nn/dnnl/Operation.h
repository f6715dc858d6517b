// One oneDNN primitive with its arguments bound once: running it creates nothing. The C++ interface of oneDNN would
// build a list of arguments at every call, so this keeps the list of the C interface.
#pragma once

#include <oneapi/dnnl/dnnl_debug.h>

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

#include "base/Error.h"

namespace bloomery::nn {

using Arguments = std::vector<std::pair<int, dnnl::memory>>;  // DNNL_ARG_SRC ...

inline float* dataOf(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

// Asked while steps run: the C++ interface would make a descriptor of its own for the answer.
inline int64_t numFloats(const dnnl::memory& memory) {
  const_dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_get_memory_desc(memory.get(), &desc);
  return static_cast<int64_t>(dnnl_memory_desc_get_size(desc) / sizeof(float));
}

class Operation {
 public:
  Operation(dnnl::primitive primitive, Arguments arguments)
      : primitive_(std::move(primitive)), keptAlive_(std::move(arguments)) {
    for (const auto& [index, memory] : keptAlive_) arguments_.push_back({index, memory.get()});
  }

  void run(const dnnl::stream& stream) const {
    dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
    check(status == dnnl_success, "oneDNN failed to run a primitive: ", dnnl_status2str(status));
  }

 private:
  dnnl::primitive primitive_;
  Arguments keptAlive_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace bloomery::nn
