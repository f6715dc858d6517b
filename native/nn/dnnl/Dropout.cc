#include <algorithm>

#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/Dropout.h"

namespace bloomery::nn {

namespace {

// In place, on rows in canonical order, because an element's number decides over it. After a ReLU its backward does
// the ReLU's part too, and needs no mask: the value says it all.
class DropoutStep final : public Step {
 public:
  DropoutStep(const network::Dropout& layer, const network::Node& node, const Edge& source, const Edge& edge,
              PlanBuilder& builder)
      : rule_(layer.rate, builder.options().seed, node.name),
        size_(node.output.numElements()),
        batchSize_(builder.options().batchSize),
        source_(source.value),
        value_(edge.value),
        gradient_(edge.gradient) {
    builder.use(Phase::kForward, source_);
    builder.use(Phase::kForward, value_);
    if (!gradient_) return;
    builder.use(Phase::kBackward, gradient_);
    if (edge.reluPending) {
      builder.use(Phase::kBackward, value_);
    } else {
      mask_ = builder.buffers().add(
          {{batchSize_ * dropoutMaskBytes(size_)}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a});
      builder.use(Phase::kForward, mask_);
      builder.use(Phase::kBackward, mask_);
    }
  }

  void forward(const Pass& pass) override {
    float* values = dataOf(value_);
    if (source_.get() != value_.get()) {
      std::copy_n(dataOf(source_), batchSize_ * size_, values);
    }
    if (pass.mode == Mode::kInference) return;
    uint64_t key = rule_.keyFor(pass.batch.epoch);
    uint8_t* mask = mask_ ? static_cast<uint8_t*>(mask_.get_data_handle()) : nullptr;
#pragma omp parallel for schedule(static) if (pass.batch.numRows * size_ > kWorthThreads)
    for (int64_t row = 0; row < pass.batch.numRows; ++row) {
      dropRow(rule_, key, pass.batch.rowIds[static_cast<size_t>(row)], values + row * size_, size_,
              mask == nullptr ? nullptr : mask + row * dropoutMaskBytes(size_));
    }
  }

  void backward(const Pass& pass) override {
    if (!gradient_) return;
    float* gradients = dataOf(gradient_);
    const float* values = dataOf(value_);
    const uint8_t* mask = mask_ ? static_cast<const uint8_t*>(mask_.get_data_handle()) : nullptr;
#pragma omp parallel for schedule(static) if (pass.batch.numRows * size_ > kWorthThreads)
    for (int64_t row = 0; row < pass.batch.numRows; ++row) {
      if (mask == nullptr) {
        dropRowByValues(rule_, values + row * size_, gradients + row * size_, size_);
      } else {
        dropRowByMask(rule_, mask + row * dropoutMaskBytes(size_), gradients + row * size_, size_);
      }
    }
  }

 private:
  static constexpr int64_t kWorthThreads = 1 << 14;

  DropoutRule rule_;
  int64_t size_, batchSize_;
  dnnl::memory source_, value_, gradient_, mask_;  // source_ is value_ where that may be overwritten
};

}  // namespace

Edge planLayer(const network::Dropout& layer, const Site& site, PlanBuilder& builder) {
  const network::Node& node = site.node;
  const Edge& given = site.input();
  if (!builder.options().training || layer.rate == 0) return given;
  Edge input = builder.reordered(given, builder.canonical(node.input));
  Edge output = input;
  if (!input.overwritable) output.value = builder.buffers().add(input.value.get_desc());
  output.overwritable = true;
  output.gradientIsOnlyRead = false;
  builder.add(std::make_unique<DropoutStep>(layer, node, input, output, builder));
  output.reluPending = false;
  return output;
}

}  // namespace bloomery::nn
