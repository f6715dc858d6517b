#include <cmath>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// gamma / deviation and beta - mean * gamma / deviation, from the running statistics as they are at each pass.
class NormFactors final : public Step {
 public:
  NormFactors(const network::Node& node, const dnnl::memory& scale, const dnnl::memory& shift, PlanBuilder& builder)
      : layer_(std::get<network::BatchNormalization>(node.layer)),
        channels_(node.output.extents().back()),
        scale_(scale),
        shift_(shift) {
    dnnl::memory::desc vector({channels_}, DataType::f32, Tag::a);
    size_t index = 0;
    if (layer_.scale) gamma_ = builder.parameter(node, index++, vector);
    if (layer_.center) beta_ = builder.parameter(node, index++, vector);
    mean_ = builder.parameter(node, index, vector);
    variance_ = builder.parameter(node, index + 1, vector);
    builder.use(Phase::kForward, scale_);
    builder.use(Phase::kForward, shift_);
  }

  void forward(const Pass&) override {
    for (int64_t i = 0; i < channels_; ++i) {
      float gamma = gamma_ ? dataOf(gamma_)[i] : 1.0f, beta = beta_ ? dataOf(beta_)[i] : 0.0f;
      float scale = gamma / std::sqrt(dataOf(variance_)[i] + static_cast<float>(layer_.epsilon));
      dataOf(scale_)[i] = scale;
      dataOf(shift_)[i] = beta - dataOf(mean_)[i] * scale;
    }
  }
  void backward(const Pass&) override {}

 private:
  network::BatchNormalization layer_;
  int64_t channels_;
  dnnl::memory scale_, shift_, gamma_, beta_, mean_, variance_;
};

}  // namespace

Ending planEnding(const Site& site, const dnnl::memory::desc& factors, PlanBuilder& builder) {
  Ending ending;
  if (site.norm != nullptr) {
    dnnl::memory scale = builder.buffers().add(factors), shift = builder.buffers().add(factors);
    builder.add(std::make_unique<NormFactors>(*site.norm, scale, shift, builder));
    ending.operations.append_binary(dnnl::algorithm::binary_mul, factors);
    ending.operations.append_binary(dnnl::algorithm::binary_add, factors);
    ending.arguments = {{DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, scale},
                        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, shift}};
  }
  if (site.relu) ending.operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  return ending;
}

}  // namespace bloomery::nn
