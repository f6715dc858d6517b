#include <algorithm>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kWorthThreads = 1 << 15;

// Gathers rows of the table; backward adds to the rows that were taken, and where those are told apart, touches no
// other. Several layers may share a table. The indices were checked when they came in.
class EmbeddingStep final : public Step {
 public:
  EmbeddingStep(const network::Embedding& layer, const network::Node& node, const Edge& input, const Edge& output,
                PlanBuilder& builder)
      : size_(layer.outputDim),
        tableSize_(layer.inputDim),
        steps_(node.input.numElements()),
        batchSize_(builder.options().batchSize),
        indices_(input.value),
        output_(output) {
    dnnl::memory::desc table = PlanBuilder::matrix(layer.inputDim, layer.outputDim);
    table_ = builder.parameter(node, 0, table);
    builder.use(Phase::kForward, indices_);
    builder.use(Phase::kForward, output.value);
    if (!output.gradient || !builder.trains(node)) return;
    tableGradient_ = builder.sharedGradient(node, 0, table);
    rows_ = builder.rowsOf(node, 0);
    first_ = builder.isFirstUser(node);
    last_ = builder.isLastUser(node);
    builder.use(Phase::kBackward, indices_);
    builder.use(Phase::kBackward, output.gradient);
  }

  void forward(const Pass& pass) override {
    const float *indices = dataOf(indices_), *table = dataOf(table_);
    float* out = dataOf(output_.value);
    int64_t count = batchSize_ * steps_;
#pragma omp parallel for schedule(static) if (count * size_ > kWorthThreads)
    for (int64_t i = 0; i < count; ++i) std::copy_n(table + rowOf(indices[i]) * size_, size_, out + i * size_);
    if (rows_ != nullptr && pass.mode == Mode::kTraining) markRows(pass.batch.numRows * steps_);
  }

  // Each thread adds its own columns, so that two of them never write to one place, and the order is always the same.
  void backward(const Pass& pass) override {
    if (!tableGradient_) return;
    const float *indices = dataOf(indices_), *gradients = dataOf(output_.gradient);
    float* table = dataOf(tableGradient_);
    int64_t count = pass.batch.numRows * steps_, numToClear = last_ && rows_ == nullptr ? tableSize_ : 0;
    if (last_ && rows_ != nullptr) rows_->zero();
    constexpr int64_t kStrip = 64;
#pragma omp parallel for schedule(static) if (count * size_ > kWorthThreads)
    for (int64_t first = 0; first < size_; first += kStrip) {
      int64_t width = std::min(kStrip, size_ - first);
      for (int64_t row = 0; row < numToClear; ++row) std::fill_n(table + row * size_ + first, width, 0.0f);
      for (int64_t i = 0; i < count; ++i) {
        float* to = table + rowOf(indices[i]) * size_ + first;
        const float* from = gradients + i * size_ + first;
        for (int64_t k = 0; k < width; ++k) to[k] += from[k];
      }
    }
  }

 private:
  // What the last step left goes first.
  void markRows(int64_t count) {
    const float* indices = dataOf(indices_);
    if (first_) rows_->clear();
    for (int64_t i = 0; i < count; ++i) rows_->mark(rowOf(indices[i]));
  }

  int64_t rowOf(float index) const { return std::clamp<int64_t>(static_cast<int64_t>(index), 0, tableSize_ - 1); }

  int64_t size_, tableSize_, steps_, batchSize_;
  dnnl::memory indices_, table_, tableGradient_;
  Edge output_;
  TouchedRows* rows_ = nullptr;      // null: the table is cleared whole
  bool first_ = true, last_ = true;  // of those who share the table, in the order of the network
};

}  // namespace

Edge planLayer(const network::Embedding& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(site.node.output, builder.canonical(site.node.output), builder.trains(site.node));
  builder.add(std::make_unique<EmbeddingStep>(layer, site.node, input, output, builder), &site.node);
  if (layer.maskZero) output.indices = input.value;
  return output;
}

}  // namespace bloomery::nn
