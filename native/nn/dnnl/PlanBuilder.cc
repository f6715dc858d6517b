#include "nn/dnnl/PlanBuilder.h"

#include <utility>

#include "nn/dnnl/FixedLayouts.h"
#include "nn/kernels/Arrays.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// Far beyond the number of steps: the backward pass of a step comes as long after this as its forward pass before it.
constexpr int kTurn = 1 << 24;

class Reorder final : public Step {
 public:
  Reorder(const Edge& from, const Edge& to, PlanBuilder& builder)
      : forward_(builder.reorder(Phase::kForward, from.value, to.value)) {
    if (to.gradient) backward_.push_back(builder.reorder(Phase::kBackward, to.gradient, from.gradient));
  }
  void forward(const Pass& pass) override { forward_.run(pass.stream); }
  void backward(const Pass& pass) override {
    for (const Operation& operation : backward_) operation.run(pass.stream);
  }

 private:
  Operation forward_;
  std::vector<Operation> backward_;
};

// The backward half of a ReLU that was fused into the forward pass of the step before.
class ReluBackward final : public Step {
 public:
  ReluBackward(const Edge& edge, PlanBuilder& builder) : backward_(plan(edge, builder)) {}
  void forward(const Pass&) override {}
  void backward(const Pass& pass) override { backward_.run(pass.stream); }

 private:
  static Operation plan(const Edge& edge, PlanBuilder& builder) {
    constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    dnnl::memory::desc desc = edge.value.get_desc();
    dnnl::eltwise_forward::primitive_desc hint(builder.engine(), dnnl::prop_kind::forward_training, kRelu, desc, desc,
                                               0.0f);
    dnnl::eltwise_backward::primitive_desc backward(builder.engine(), kRelu, desc, desc, desc, 0.0f, hint,
                                                    builder.attributes());
    return builder.operation(
        Phase::kBackward, backward,
        {{DNNL_ARG_DST, edge.value}, {DNNL_ARG_DIFF_DST, edge.gradient}, {DNNL_ARG_DIFF_SRC, edge.gradient}});
  }

  Operation backward_;
};

// Between a value and the several who take it: their gradients add up, and a pending ReLU's part is done on the way.
class Fork final : public Step {
 public:
  Fork(const Edge& edge, const std::vector<Edge>& branches, PlanBuilder& builder)
      : size_(numFloats(edge.gradient)), value_(edge.reluPending ? edge.value : dnnl::memory()), sum_(edge.gradient) {
    for (const Edge& branch : branches) branches_.push_back(branch.gradient);
    for (const dnnl::memory& memory : branches_) builder.use(Phase::kBackward, memory);
    builder.use(Phase::kBackward, sum_);
    if (value_) builder.use(Phase::kBackward, value_);
  }
  void forward(const Pass&) override {}
  void backward(const Pass&) override {
    addArrays(dataOf(branches_[0]), dataOf(branches_[1]), value_ && branches_.size() == 2 ? dataOf(value_) : nullptr,
              size_, dataOf(sum_));
    for (size_t i = 2; i < branches_.size(); ++i) {
      bool last = i + 1 == branches_.size();
      addArrays(dataOf(sum_), dataOf(branches_[i]), value_ && last ? dataOf(value_) : nullptr, size_, dataOf(sum_));
    }
  }

 private:
  int64_t size_;
  dnnl::memory value_, sum_;
  std::vector<dnnl::memory> branches_;
};

}  // namespace

PlanBuilder::PlanBuilder(const network::Graph& graph, const Arena* parameters, const Arena* gradients,
                         const PlanOptions& options)
    : graph_(graph),
      layout_(graph.parameters().layout()),
      parameters_(parameters),
      gradients_(gradients),
      options_(options) {}

dnnl::prop_kind PlanBuilder::forwardKind() const {
  return options_.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

dnnl::memory::desc PlanBuilder::canonical(const Shape& shape) const {
  if (shape.rank() != 3 && shape.rank() != 2) return matrix(options_.batchSize, shape.numElements());
  Shape image = network::imageOf(shape);
  // With one channel both orders are the same bytes, and oneDNN's first-layer kernels look for nchw.
  return {{options_.batchSize, image[2], image[0], image[1]}, DataType::f32, image[2] == 1 ? Tag::nchw : Tag::nhwc};
}

dnnl::memory::desc PlanBuilder::image(const Shape& shape) const {
  Shape image = network::imageOf(shape);
  return {{options_.batchSize, image[2], image[0], image[1]}, DataType::f32, Tag::any};
}

dnnl::memory::desc PlanBuilder::matrix(int64_t rows, int64_t columns) {
  return {{rows, columns}, DataType::f32, Tag::ab};
}

int64_t PlanBuilder::channelBlock(const dnnl::memory::desc& desc) const {
  dnnl::memory::dims dims = desc.get_dims();
  for (auto [tag, block] : {std::pair(Tag::nhwc, dims[1]), {Tag::nChw8c, 8}, {Tag::nChw16c, 16}}) {
    if (dims[1] % block == 0 && block % 8 == 0 && desc == dnnl::memory::desc(dims, DataType::f32, tag)) return block;
  }
  return 0;
}

dnnl::primitive_attr PlanBuilder::attributes() const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory PlanBuilder::slice(const Arena* arena, const network::Node& node, size_t index,
                                const dnnl::memory::desc& desc) const {
  check(index < node.numParameters, "No such parameter: ", index, " of layer ", node.name);
  const Slice& slice = layout_.slices()[node.firstParameter + index];
  check(desc.get_size() == slice.size * sizeof(float), "Parameter does not fit its descriptor: ", slice.name);
  return {desc, engine_, arena == nullptr ? DNNL_MEMORY_NONE : arena->view(slice).data};
}

dnnl::memory PlanBuilder::parameter(const network::Node& node, size_t index, const dnnl::memory::desc& desc) const {
  return slice(parameters_, node, index, desc);
}

dnnl::memory PlanBuilder::gradient(const network::Node& node, size_t index, const dnnl::memory::desc& desc) {
  dnnl::memory own = slice(gradients_, node, index, desc);
  if (isLastUser(node)) return own;
  dnnl::memory addend = buffers_.add(desc);
  use(Phase::kBackward, addend);
  addends_.push_back({addend, own});
  return addend;
}

dnnl::memory PlanBuilder::sharedGradient(const network::Node& node, size_t index,
                                         const dnnl::memory::desc& desc) const {
  return slice(gradients_, node, index, desc);
}

TouchedRows* PlanBuilder::rowsOf(const network::Node& node, size_t index) const {
  return options_.rows == nullptr ? nullptr : options_.rows->find(node.firstParameter + index);
}

size_t PlanBuilder::inputIndex(const network::Node& node) const {
  size_t index = 0;
  while (&graph_.nodes()[graph_.inputs()[index]] != &node) ++index;
  return index;
}

bool PlanBuilder::isFirstUser(const network::Node& node) const {
  for (const network::Node& other : graph_.nodes()) {
    if (other.numParameters > 0 && other.firstParameter == node.firstParameter) return &other == &node;
  }
  return true;
}

bool PlanBuilder::isLastUser(const network::Node& node) const {
  for (auto other = graph_.nodes().rbegin(); other != graph_.nodes().rend(); ++other) {
    if (other->numParameters > 0 && other->firstParameter == node.firstParameter) return &*other == &node;
  }
  return true;
}

Edge PlanBuilder::edge(const Shape& shape, const dnnl::memory::desc& desc, bool wantsGradient) {
  Edge edge{.shape = shape, .value = buffers_.add(desc), .overwritable = true};
  if (wantsGradient && options_.training) edge.gradient = buffers_.add(desc);
  return edge;
}

Edge PlanBuilder::reordered(const Edge& from, const dnnl::memory::desc& desc) {
  if (from.value.get_desc() == desc) return from;
  Edge to = edge(from.shape, desc, static_cast<bool>(from.gradient));
  to.reluPending = from.reluPending;
  to.gradientIsOnlyRead = !from.reluPending;
  to.indices = from.indices;
  add(std::make_unique<Reorder>(from, to, *this));
  return to;
}

Edge PlanBuilder::settled(const Edge& edge) {
  if (edge.reluPending && edge.gradient) add(std::make_unique<ReluBackward>(edge, *this));
  Edge result = edge;
  if (edge.reluPending) result.gradientIsOnlyRead = false;
  result.reluPending = false;
  return result;
}

std::vector<Edge> PlanBuilder::forked(const Edge& edge, size_t count) {
  std::vector<Edge> branches(count, edge);
  for (Edge& branch : branches) {
    branch.overwritable = false;
    if (!edge.gradient) continue;
    branch.reluPending = false;
    branch.gradientIsOnlyRead = true;
    branch.gradient = buffers_.add(edge.gradient.get_desc());
  }
  if (edge.gradient) add(std::make_unique<Fork>(edge, branches, *this));
  return branches;
}

std::vector<Edge> PlanBuilder::forkedWithAddend(const Edge& edge) {
  check(edge.gradient && !edge.reluPending && !edge.addend, "This edge needs a step that adds up its gradients");
  Edge other = edge, adding = edge;
  other.gradient = buffers_.add(edge.gradient.get_desc());
  other.gradientIsOnlyRead = true;
  adding.addend = other.gradient;
  other.overwritable = adding.overwritable = false;
  return {other, adding};
}

Operation PlanBuilder::reorder(Phase phase, const dnnl::memory& from, const dnnl::memory& to) {
  dnnl::reorder::primitive_desc desc(engine_, from.get_desc(), engine_, to.get_desc(), attributes());
  return operation(phase, desc, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory PlanBuilder::as(const dnnl::memory::desc& desc, const dnnl::memory& memory, Phase phase,
                             std::vector<Operation>& operations) {
  if (memory.get_desc() == desc) return memory;
  dnnl::memory result = buffers_.add(desc);
  operations.push_back(reorder(phase, memory, result));
  return result;
}

dnnl::memory PlanBuilder::parameterAs(const dnnl::memory::desc& desc, const dnnl::memory& parameter, Phase phase,
                                      std::vector<Operation>& operations) {
  if (options_.fixed == nullptr) return as(desc, parameter, phase, operations);
  return static_cast<FixedLayouts*>(options_.fixed)->as(desc, parameter);
}

void PlanBuilder::use(Phase phase, const dnnl::memory& memory) {
  int step = static_cast<int>(steps_.size());
  buffers_.use(memory, phase == Phase::kForward ? step : 2 * kTurn - step);
}

void PlanBuilder::keep(const dnnl::memory& memory) {
  use(Phase::kForward, memory);
  buffers_.use(memory, 2 * kTurn);
}

void PlanBuilder::add(std::unique_ptr<Step> step, const network::Node* node) {
  if (node != nullptr && !isFirstUser(*node)) node = nullptr;
  steps_.push_back({std::move(step), node, std::exchange(addends_, {}), owner_});
}

}  // namespace bloomery::nn
