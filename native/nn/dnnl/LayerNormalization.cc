#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/LayerNorm.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

float* dataOrNull(const dnnl::memory& memory) { return memory ? dataOf(memory) : nullptr; }

class LayerNormStep final : public Step {
 public:
  LayerNormStep(const network::LayerNormalization& layer, const network::Node& node, const Edge& input,
                const Edge& output, PlanBuilder& builder)
      : size_(node.input.extents().back()),
        numRows_(builder.options().batchSize * node.input.numElements() / size_),
        epsilon_(layer.epsilon),
        input_(input),
        output_(output),
        moments_(builder.buffers().add({{2 * numRows_}, DataType::f32, Tag::a})) {
    dnnl::memory::desc vector({size_}, DataType::f32, Tag::a);
    if (layer.scale) gamma_ = builder.parameter(node, 0, vector);
    if (layer.center) beta_ = builder.parameter(node, layer.scale ? 1 : 0, vector);
    for (const dnnl::memory& memory : {input.value, output.value, moments_}) builder.use(Phase::kForward, memory);
    if (!output.gradient) return;
    for (const dnnl::memory& memory : {input.value, output.gradient, moments_}) builder.use(Phase::kBackward, memory);
    if (input.gradient) builder.use(Phase::kBackward, input.gradient);
    if (!builder.trains(node)) return;
    if (layer.scale) gammaGradient_ = builder.gradient(node, 0, vector);
    if (layer.center) betaGradient_ = builder.gradient(node, layer.scale ? 1 : 0, vector);
  }

  void forward(const Pass&) override {
    layerNormalize(dataOf(input_.value), numRows_, size_, epsilon_, dataOrNull(gamma_), dataOrNull(beta_),
                   dataOf(moments_), dataOf(output_.value));
  }

  void backward(const Pass&) override {
    if (!output_.gradient) return;
    const float *values = dataOf(input_.value), *gradients = dataOf(output_.gradient);
    if (gammaGradient_ || betaGradient_) {
      layerNormParameterGradients(values, gradients, numRows_, size_, dataOf(moments_), dataOrNull(gammaGradient_),
                                  dataOrNull(betaGradient_));
    }
    if (!input_.gradient) return;
    layerNormInputGradient(values, gradients, numRows_, size_, dataOrNull(gamma_), dataOf(moments_),
                           dataOf(input_.gradient));
  }

 private:
  int64_t size_, numRows_;
  double epsilon_;
  Edge input_, output_;
  dnnl::memory moments_, gamma_, beta_, gammaGradient_, betaGradient_;
};

}  // namespace

Edge planLayer(const network::LayerNormalization& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(site.node.output, builder.canonical(site.node.output),
                             builder.trains(site.node) || static_cast<bool>(input.gradient));
  builder.add(std::make_unique<LayerNormStep>(layer, site.node, input, output, builder), &site.node);
  return output;
}

}  // namespace bloomery::nn
