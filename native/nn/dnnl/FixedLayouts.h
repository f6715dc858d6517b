// Parameters that change no more, in the layouts that oneDNN's primitives asked for, for all plans of a Predictor.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "nn/Plan.h"

namespace bloomery::nn {

class FixedLayouts final : public FixedParameters {
 public:
  // The same values in the wanted layout, reordered here when no plan has asked for it before.
  dnnl::memory as(const dnnl::memory::desc& desc, const dnnl::memory& parameter);

 private:
  struct Layout {
    dnnl::memory parameter;
    Arena values;
    dnnl::memory memory;  // in those
  };
  std::mutex mutex_;
  std::vector<std::unique_ptr<Layout>> layouts_;
};

}  // namespace bloomery::nn
