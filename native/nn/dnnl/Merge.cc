// Sums, products and concatenations of several edges.
#include <algorithm>

#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/Arrays.h"

namespace bloomery::nn {

namespace {

using How = network::Merge::How;

class MergeStep : public Step {
 public:
  MergeStep(std::vector<Edge> inputs, const Edge& output, bool readsValues, PlanBuilder& builder)
      : inputs_(std::move(inputs)), output_(output) {
    builder.use(Phase::kForward, output_.value);
    for (const Edge& input : inputs_) builder.use(Phase::kForward, input.value);
    if (!output_.gradient) return;
    builder.use(Phase::kBackward, output_.gradient);
    for (const Edge& input : inputs_) {
      if (input.gradient) builder.use(Phase::kBackward, input.gradient);
      if (readsValues) builder.use(Phase::kBackward, input.value);
    }
  }

 protected:
  std::vector<Edge> inputs_;
  Edge output_;
};

// The first input and the output may share their memory. The gradient of the sum is that of every addend: it is copied
// to those who do not share it.
class AddStep final : public MergeStep {
 public:
  AddStep(std::vector<Edge> inputs, const Edge& output, bool relu, PlanBuilder& builder)
      : MergeStep(std::move(inputs), output, false, builder), relu_(relu) {}

  void forward(const Pass&) override {
    int64_t size = numFloats(output_.value);
    const float* sum = dataOf(inputs_[0].value);
    for (size_t i = 1; i < inputs_.size(); ++i) {
      addForward(sum, dataOf(inputs_[i].value), relu_ && i + 1 == inputs_.size(), size, dataOf(output_.value));
      sum = dataOf(output_.value);
    }
  }

  void backward(const Pass&) override {
    if (!output_.gradient) return;
    const float* gradient = dataOf(output_.gradient);
    for (const Edge& input : inputs_) {
      if (input.gradient && dataOf(input.gradient) != gradient) {
        copyArray(gradient, numFloats(output_.value), dataOf(input.gradient));
      }
    }
  }

 private:
  bool relu_;
};

class MultiplyStep final : public MergeStep {
 public:
  MultiplyStep(std::vector<Edge> inputs, const Edge& output, PlanBuilder& builder)
      : MergeStep(std::move(inputs), output, true, builder) {}

  void forward(const Pass&) override {
    const float* product = dataOf(inputs_[0].value);
    for (size_t i = 1; i < inputs_.size(); ++i) {
      multiplyArrays(product, dataOf(inputs_[i].value), numFloats(output_.value), dataOf(output_.value));
      product = dataOf(output_.value);
    }
  }

  void backward(const Pass&) override {
    if (!output_.gradient) return;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].gradient) continue;
      const float* product = dataOf(output_.gradient);
      for (size_t other = 0; other < inputs_.size(); ++other) {
        if (other == i) continue;
        multiplyArrays(product, dataOf(inputs_[other].value), numFloats(output_.value), dataOf(inputs_[i].gradient));
        product = dataOf(inputs_[i].gradient);
      }
    }
  }
};

// Side by side on the last axis of plain rows.
class ConcatenateStep final : public MergeStep {
 public:
  ConcatenateStep(std::vector<Edge> inputs, const Edge& output, int64_t batch, PlanBuilder& builder)
      : MergeStep(std::move(inputs), output, false, builder),
        width_(output.shape.extents().back()),
        numRows_(batch * output.shape.numElements() / width_) {}

  void forward(const Pass&) override {
    forEachPart([this](const Edge& input, int64_t own, int64_t offset, int64_t row) {
      std::copy_n(dataOf(input.value) + row * own, own, dataOf(output_.value) + row * width_ + offset);
    });
  }

  void backward(const Pass&) override {
    if (!output_.gradient) return;
    forEachPart([this](const Edge& input, int64_t own, int64_t offset, int64_t row) {
      if (!input.gradient) return;
      std::copy_n(dataOf(output_.gradient) + row * width_ + offset, own, dataOf(input.gradient) + row * own);
    });
  }

 private:
  template <typename Visit>
  void forEachPart(Visit visit) {
    constexpr int64_t kWorthThreads = 1 << 15;
#pragma omp parallel for schedule(static) if (numRows_ * width_ > kWorthThreads)
    for (int64_t row = 0; row < numRows_; ++row) {
      int64_t offset = 0;
      for (const Edge& input : inputs_) {
        int64_t own = input.shape.extents().back();
        visit(input, own, offset, row);
        offset += own;
      }
    }
  }

  int64_t width_, numRows_;
};

// Gives all addends that only read it the gradient of their sum itself, or else the first one that has any. Returns
// whether nobody writes to it.
bool shareGradient(const std::vector<Edge>& inputs, const Edge& output, PlanBuilder& builder) {
  bool onlyRead = true, shared = false;
  for (const Edge& input : inputs) {
    if (!input.gradient) continue;
    onlyRead = onlyRead && input.gradientIsOnlyRead;
    if (!input.gradientIsOnlyRead) continue;
    builder.buffers().unite(output.gradient, input.gradient);
    shared = true;
  }
  for (size_t i = 0; i < inputs.size() && !shared; ++i) {
    if (!inputs[i].gradient) continue;
    builder.buffers().unite(output.gradient, inputs[i].gradient);
    shared = true;
  }
  return onlyRead;
}

}  // namespace

Edge planLayer(const network::Merge& layer, const Site& site, PlanBuilder& builder) {
  std::vector<Edge> inputs;
  bool wantsGradient = false;
  bool plain = layer.how == How::kConcatenate;
  for (const Edge& given : site.inputs) {
    Edge input = plain ? builder.plain(given) : builder.settled(given);
    if (!inputs.empty() && !plain) input = builder.reordered(input, inputs[0].value.get_desc());
    wantsGradient = wantsGradient || input.gradient;
    inputs.push_back(std::move(input));
  }
  dnnl::memory::desc desc = plain ? builder.canonical(site.node.output) : inputs[0].value.get_desc();
  Edge output = builder.edge(site.node.output, desc, wantsGradient);
  if (layer.how == How::kAdd) {
    // In place where the first addend is not needed any more.
    if (inputs[0].overwritable && !site.input().reluPending) output.value = inputs[0].value;
    output.gradientIsOnlyRead = shareGradient(inputs, output, builder);
    output.reluPending = site.relu;
    builder.add(std::make_unique<AddStep>(inputs, output, site.relu, builder));
  } else if (layer.how == How::kMultiply) {
    builder.add(std::make_unique<MultiplyStep>(inputs, output, builder));
  } else {
    builder.add(std::make_unique<ConcatenateStep>(inputs, output, builder.options().batchSize, builder));
  }
  for (const Edge& input : inputs) {
    if (!output.indices) output.indices = input.indices;
  }
  return output;
}

}  // namespace bloomery::nn
