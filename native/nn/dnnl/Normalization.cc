#include <algorithm>

#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/Standardize.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

class NormalizationStep final : public Step {
 public:
  NormalizationStep(const network::Normalization& layer, const network::Node& node, const Edge& input,
                    const Edge& output, PlanBuilder& builder)
      : size_(layer.size),
        width_(node.input.numElements()),
        batchSize_(builder.options().batchSize),
        input_(input),
        output_(output),
        factors_(builder.buffers().add({{2 * width_}, DataType::f32, Tag::a})) {
    dnnl::memory::desc vector({size_}, DataType::f32, Tag::a);
    mean_ = builder.parameter(node, 0, vector);
    variance_ = builder.parameter(node, 1, vector);
    for (const dnnl::memory& memory : {input.value, output.value, factors_}) builder.use(Phase::kForward, memory);
    if (!input.gradient) return;
    for (const dnnl::memory& memory : {output.gradient, input.gradient, factors_}) {
      builder.use(Phase::kBackward, memory);
    }
  }

  // Rows that are missing stay zeros, as they came.
  void forward(const Pass& pass) override {
    standardFactors(dataOf(mean_), dataOf(variance_), size_, width_, center(), inverse());
    float* out = dataOf(output_.value);
    int64_t numRows = pass.batch.numRows;
    standardize(dataOf(input_.value), numRows, width_, center(), inverse(), out);
    std::fill(out + numRows * width_, out + batchSize_ * width_, 0.0f);
  }

  void backward(const Pass&) override {
    if (!input_.gradient) return;
    standardizeInputGradient(dataOf(output_.gradient), batchSize_, width_, inverse(), dataOf(input_.gradient));
  }

 private:
  float* center() const { return dataOf(factors_); }
  float* inverse() const { return dataOf(factors_) + width_; }

  int64_t size_, width_, batchSize_;
  Edge input_, output_;
  dnnl::memory mean_, variance_, factors_;  // factors: center and inverse, each as wide as a row
};

}  // namespace

Edge planLayer(const network::Normalization& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(site.node.output, builder.canonical(site.node.output), static_cast<bool>(input.gradient));
  output.gradientIsOnlyRead = true;
  builder.add(std::make_unique<NormalizationStep>(layer, site.node, input, output, builder), &site.node);
  return output;
}

}  // namespace bloomery::nn
