#include "nn/dnnl/FixedLayouts.h"

#include "nn/dnnl/Operation.h"

namespace bloomery::nn {

dnnl::memory FixedLayouts::as(const dnnl::memory::desc& desc, const dnnl::memory& parameter) {
  if (parameter.get_desc() == desc) return parameter;
  std::lock_guard lock(mutex_);
  for (const auto& layout : layouts_) {
    bool same = dataOf(layout->parameter) == dataOf(parameter) &&
                layout->parameter.get_desc() == parameter.get_desc() && layout->memory.get_desc() == desc;
    if (same) return layout->memory;
  }
  dnnl::engine engine = parameter.get_engine();
  auto layout = std::make_unique<Layout>(Layout{parameter, Arena(desc.get_size() / sizeof(float)), {}});
  layout->memory = dnnl::memory(desc, engine, layout->values.all().data());
  dnnl::stream stream(engine);
  dnnl::reorder(parameter, layout->memory).execute(stream, const_cast<dnnl::memory&>(parameter), layout->memory);
  stream.wait();
  layouts_.push_back(std::move(layout));
  return layouts_.back()->memory;
}

std::unique_ptr<FixedParameters> makeDnnlFixedParameters() { return std::make_unique<FixedLayouts>(); }

}  // namespace bloomery::nn
