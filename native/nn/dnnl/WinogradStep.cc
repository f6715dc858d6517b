#include "nn/dnnl/WinogradStep.h"

#include <utility>

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

float* orNull(const dnnl::memory& memory) { return memory ? dataOf(memory) : nullptr; }

class WinogradStep final : public Step {
 public:
  WinogradStep(WinogradPlan plan, PlanBuilder& builder)
      : plan_(std::move(plan)),
        backward_(plan_.shape.backward()),
        forwardScratch_(scratch(plan_.shape.scratchSize(), Phase::kForward, builder)) {
    for (const dnnl::memory& memory : {plan_.input.value, plan_.output.value}) builder.use(Phase::kForward, memory);
    if (plan_.scale) {
      shift_ = scratch(plan_.shape.filters, Phase::kForward, builder);
      for (const dnnl::memory& memory : {plan_.scale, plan_.shift}) builder.use(Phase::kForward, memory);
    }
    if (plan_.kernelGradient) {
      gradientScratch_ = scratch(plan_.shape.gradientScratchSize(), Phase::kBackward, builder);
      for (const dnnl::memory& memory : {plan_.input.value, plan_.output.gradient}) {
        builder.use(Phase::kBackward, memory);
      }
    }
    if (plan_.input.gradient) {
      backwardScratch_ = scratch(backward_.scratchSize(), Phase::kBackward, builder);
      for (const dnnl::memory& memory : {plan_.output.gradient, plan_.input.gradient}) {
        builder.use(Phase::kBackward, memory);
      }
    }
  }

  void forward(const Pass&) override {
    WinogradEnding ending{.scale = orNull(plan_.scale), .shift = orNull(plan_.bias), .relu = plan_.relu};
    if (plan_.scale) {
      ending.shift = dataOf(shift_);
      for (int64_t i = 0; i < plan_.shape.filters; ++i) {
        float bias = plan_.bias ? dataOf(plan_.bias)[i] : 0.0f;
        dataOf(shift_)[i] = bias * ending.scale[i] + dataOf(plan_.shift)[i];
      }
    }
    winogradConvolve(plan_.shape, dataOf(plan_.input.value), dataOf(plan_.kernel), false, ending,
                     dataOf(plan_.output.value), dataOf(forwardScratch_));
  }

  void backward(const Pass&) override {
    if (!plan_.kernelGradient) return;
    winogradKernelGradient(plan_.shape, dataOf(plan_.input.value), dataOf(plan_.output.gradient),
                           dataOf(plan_.kernelGradient), orNull(plan_.biasGradient), dataOf(gradientScratch_));
  }

  void backwardInput(const Pass&) override {
    if (!plan_.input.gradient) return;
    winogradConvolve(backward_, dataOf(plan_.output.gradient), dataOf(plan_.kernel), true, {},
                     dataOf(plan_.input.gradient), dataOf(backwardScratch_));
  }

 private:
  static dnnl::memory scratch(int64_t size, Phase phase, PlanBuilder& builder) {
    dnnl::memory memory = builder.buffers().add({{size}, DataType::f32, Tag::a});
    builder.use(phase, memory);
    return memory;
  }

  WinogradPlan plan_;
  WinogradConvolution backward_;
  dnnl::memory forwardScratch_, gradientScratch_, backwardScratch_, shift_;
};

}  // namespace

std::unique_ptr<Step> makeWinogradStep(WinogradPlan plan, PlanBuilder& builder) {
  return std::make_unique<WinogradStep>(std::move(plan), builder);
}

}  // namespace bloomery::nn
