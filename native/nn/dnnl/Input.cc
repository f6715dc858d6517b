// The caller's features enter the plan without a copy, except in a batch that is not full: its missing rows become
// zeros in a copy, so that nothing of an earlier batch, a NaN for instance, can reach the gradients.
#include <algorithm>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

class Features final : public Step {
 public:
  Features(const dnnl::memory& features, const dnnl::memory& padded, int64_t batchSize, int64_t rowSize,
           Buffers& buffers)
      : features_(features), padded_(padded), batchSize_(batchSize), rowSize_(rowSize), buffers_(buffers) {}

  void forward(const Pass& pass) override {
    void* data = const_cast<float*>(pass.batch.inputs[0]);
    if (pass.batch.numRows < batchSize_) {
      float* padded = dataOf(padded_);
      float* tail = std::copy_n(pass.batch.inputs[0], pass.batch.numRows * rowSize_, padded);
      std::fill(tail, padded + batchSize_ * rowSize_, 0.0f);
      data = padded;
    }
    for (dnnl::memory memory : buffers_.aliasesOf(features_)) memory.set_data_handle(data);
  }
  void backward(const Pass&) override {}

 private:
  dnnl::memory features_, padded_;
  int64_t batchSize_, rowSize_;
  Buffers& buffers_;
};

}  // namespace

Edge planInput(const network::Node& node, PlanBuilder& builder) {
  Edge input = builder.edge(node.output, builder.canonical(node.output), false);
  input.overwritable = false;
  builder.buffers().leaveToCaller(input.value);
  dnnl::memory padded = builder.buffers().add(input.value.get_desc());
  builder.keep(padded);  // any step of either pass may look at the features
  builder.add(std::make_unique<Features>(input.value, padded, builder.options().batchSize, node.output.numElements(),
                                         builder.buffers()));
  return input;
}

}  // namespace bloomery::nn
