// The caller's features enter the plan without a copy, except in a batch that is not full: its missing rows become
// zeros in a copy, so that nothing of an earlier batch, a NaN for instance, can reach the gradients.
#include <algorithm>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

class Features final : public Step {
 public:
  Features(size_t index, const dnnl::memory& features, const dnnl::memory& padded, int64_t batchSize, int64_t rowSize,
           Buffers& buffers)
      : index_(index),
        features_(features),
        padded_(padded),
        batchSize_(batchSize),
        rowSize_(rowSize),
        buffers_(buffers) {}

  void forward(const Pass& pass) override {
    const float* features = pass.batch.inputs[index_];
    void* data = const_cast<float*>(features);
    if (pass.batch.numRows < batchSize_) {
      float* padded = dataOf(padded_);
      float* tail = std::copy_n(features, pass.batch.numRows * rowSize_, padded);
      std::fill(tail, padded + batchSize_ * rowSize_, 0.0f);
      data = padded;
    }
    for (dnnl::memory memory : buffers_.aliasesOf(features_)) memory.set_data_handle(data);
  }
  void backward(const Pass&) override {}

 private:
  size_t index_;
  dnnl::memory features_, padded_;
  int64_t batchSize_, rowSize_;
  Buffers& buffers_;
};

}  // namespace

Edge planLayer(const network::Input&, const Site& site, PlanBuilder& builder) {
  const network::Node& node = site.node;
  Edge input = builder.edge(node.output, builder.canonical(node.output), false);
  input.overwritable = false;
  builder.buffers().leaveToCaller(input.value);
  dnnl::memory padded = builder.buffers().add(input.value.get_desc());
  builder.keep(padded);  // any step of either pass may look at the features
  builder.add(std::make_unique<Features>(builder.inputIndex(node), input.value, padded, builder.options().batchSize,
                                         node.output.numElements(), builder.buffers()));
  return input;
}

}  // namespace bloomery::nn
