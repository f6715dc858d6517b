// Layers that only move values: Flatten and Reshape, which read their input by another shape, and ZeroPadding.
#include <algorithm>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

Edge reshaped(const Edge& given, const Shape& shape, PlanBuilder& builder) {
  Edge output = builder.reordered(given, builder.canonical(given.shape));
  dnnl::memory::desc desc = builder.canonical(shape);
  output.shape = shape;
  output.value = builder.buffers().alias(output.value, desc);
  if (output.gradient) output.gradient = builder.buffers().alias(output.gradient, desc);
  output.indices = {};
  return output;
}

class ZeroPaddingStep final : public Step {
 public:
  ZeroPaddingStep(const network::ZeroPadding& layer, const Edge& input, const Edge& output, PlanBuilder& builder)
      : batch_(builder.options().batchSize),
        height_(input.shape[0]),
        rowSize_(input.shape[1] * input.shape[2]),
        outputRow_(output.shape[1] * output.shape[2]),
        outputSize_(output.shape.numElements()),
        first_(layer.vertical.first * outputRow_ + layer.horizontal.first * input.shape[2]),
        input_(input),
        output_(output) {
    builder.use(Phase::kForward, input.value);
    builder.use(Phase::kForward, output.value);
    if (!input.gradient) return;
    builder.use(Phase::kBackward, input.gradient);
    builder.use(Phase::kBackward, output.gradient);
  }

  void forward(const Pass&) override {
    float* out = dataOf(output_.value);
    std::fill_n(out, batch_ * outputSize_, 0.0f);
    forEachRow([&](int64_t from, int64_t to) { std::copy_n(dataOf(input_.value) + from, rowSize_, out + to); });
  }
  void backward(const Pass&) override {
    if (!input_.gradient) return;
    forEachRow([&](int64_t to, int64_t from) {
      std::copy_n(dataOf(output_.gradient) + from, rowSize_, dataOf(input_.gradient) + to);
    });
  }

 private:
  template <typename Visit>
  void forEachRow(Visit visit) {
    for (int64_t sample = 0; sample < batch_; ++sample) {
      for (int64_t y = 0; y < height_; ++y) {
        visit((sample * height_ + y) * rowSize_, sample * outputSize_ + first_ + y * outputRow_);
      }
    }
  }

  int64_t batch_, height_, rowSize_, outputRow_, outputSize_, first_;
  Edge input_, output_;
};

}  // namespace

Edge planLayer(const network::Flatten&, const Site& site, PlanBuilder& builder) {
  return reshaped(site.input(), site.node.output, builder);
}

Edge planLayer(const network::Reshape&, const Site& site, PlanBuilder& builder) {
  return reshaped(site.input(), site.node.output, builder);
}

Edge planLayer(const network::ZeroPadding& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(site.node.output, builder.canonical(site.node.output), static_cast<bool>(input.gradient));
  builder.add(std::make_unique<ZeroPaddingStep>(layer, input, output, builder));
  return output;
}

}  // namespace bloomery::nn
