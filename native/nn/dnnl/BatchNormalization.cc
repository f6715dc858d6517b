#include <algorithm>
#include <cmath>

#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/BatchNorm.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// Our own kernels: they count only the valid rows, need neither a workspace nor the output for the ReLU behind, and can
// stop between the passes to add up the statistics of all workers.
class BatchNormStep final : public Step {
 public:
  BatchNormStep(const network::BatchNormalization& layer, const Site& site, const Edge& input, const Edge& output,
                const BatchNormShape& shape, PlanBuilder& builder)
      : layer_(layer),
        shape_(shape),
        relu_(site.relu),
        trains_(builder.trains(site.node)),
        batchSize_(builder.options().batchSize),
        reducer_(layer.synchronized ? builder.options().reducer : nullptr),
        input_(input),
        output_(output),
        moments_(vectors(4, builder)),
        factors_(vectors(5, builder)),
        reduced_(static_cast<size_t>(reducer_ == nullptr ? 0 : 2 * shape.channels() + 1)) {
    const network::Node& node = site.node;
    dnnl::memory::desc vector({shape.channels()}, DataType::f32, Tag::a);
    size_t index = 0;
    if (layer.scale) gamma_ = builder.parameter(node, index++, vector);
    if (layer.center) beta_ = builder.parameter(node, index++, vector);
    runningMean_ = builder.parameter(node, index, vector);
    runningVariance_ = builder.parameter(node, index + 1, vector);
    scratch_ =
        builder.buffers().add({{std::max<int64_t>(shape.scratchSize(batchSize_) * 2, 1)}, DataType::f32, Tag::a});
    for (const dnnl::memory& memory : {input_.value, output_.value, moments_, factors_, scratch_}) {
      builder.use(Phase::kForward, memory);
    }
    if (!output_.gradient) return;
    for (const dnnl::memory& memory : {input_.value, output_.gradient, moments_, factors_, scratch_}) {
      builder.use(Phase::kBackward, memory);
    }
    if (input_.addend) builder.use(Phase::kBackward, input_.addend);
    if (input_.gradient) builder.use(Phase::kBackward, input_.gradient);
    if (!trains_) return;
    index = 0;
    if (layer.scale) gammaGradient_ = builder.gradient(node, index++, vector);
    if (layer.center) betaGradient_ = builder.gradient(node, index++, vector);
    meanStatistic_ = builder.gradient(node, index, vector);
    varianceStatistic_ = builder.gradient(node, index + 1, vector);
  }

  void forward(const Pass& pass) override {
    float *mean = moment(0), *variance = moment(1), *scale = factor(0), *shift = factor(1);
    ofBatch_ = trains_ && pass.mode == Mode::kTraining;
    if (ofBatch_) {
      computeMoments(pass.batch.numRows, mean, variance);
    } else {
      std::copy_n(dataOf(runningMean_), channels(), mean);
      std::copy_n(dataOf(runningVariance_), channels(), variance);
    }
    for (int64_t i = 0; i < channels(); ++i) {
      scale[i] = gamma(i) / std::sqrt(variance[i] + static_cast<float>(layer_.epsilon));
      shift[i] = (beta_ ? dataOf(beta_)[i] : 0.0f) - mean[i] * scale[i];
    }
    batchNormalize(shape_, dataOf(input_.value), batchSize_, scale, shift, relu_, dataOf(output_.value));
  }

  void backward(const Pass& pass) override {
    if (!output_.gradient) return;
    float *mean = moment(0), *variance = moment(1), *sums = moment(2), *withValues = moment(3);
    const float *values = dataOf(input_.value), *gradients = dataOf(output_.gradient);
    ReluBehind relu = relu_ ? ReluBehind{factor(0), factor(1)} : ReluBehind{};
    int64_t numRows = pass.batch.numRows;
    batchNormSums(shape_, values, gradients, relu, numRows, mean, sums, withValues, scratch());
    if (trains_) writeGradients(pass);
    if (!input_.gradient) return;
    double count = static_cast<double>(numRows * shape_.spatial);
    if (reducer_ != nullptr && ofBatch_) count = reduceSums(count);
    float *a = factor(2), *b = factor(3), *c = factor(4);
    for (int64_t i = 0; i < channels(); ++i) {
      double inverse = 1 / std::sqrt(double{variance[i]} + layer_.epsilon);
      a[i] = static_cast<float>(gamma(i) * inverse);
      double slope = ofBatch_ && count > 0 ? gamma(i) * inverse * inverse * inverse * withValues[i] / count : 0.0;
      b[i] = static_cast<float>(-slope);
      c[i] = static_cast<float>(slope * mean[i] - (ofBatch_ && count > 0 ? gamma(i) * inverse * sums[i] / count : 0.0));
    }
    float* out = dataOf(input_.gradient);
    batchNormInputGradient(shape_, values, gradients, relu, input_.addend ? dataOf(input_.addend) : nullptr, numRows, a,
                           b, c, out);
    std::fill(out + numRows * shape_.rowSize(), out + batchSize_ * shape_.rowSize(), 0.0f);
  }

 private:
  dnnl::memory vectors(int64_t count, PlanBuilder& builder) const {
    return builder.buffers().add({{count * shape_.channels()}, DataType::f32, Tag::a});
  }
  int64_t channels() const { return shape_.channels(); }
  float* moment(int64_t index) const { return dataOf(moments_) + index * channels(); }
  float* factor(int64_t index) const { return dataOf(factors_) + index * channels(); }
  double* scratch() const { return static_cast<double*>(scratch_.get_data_handle()); }
  float gamma(int64_t channel) const { return gamma_ ? dataOf(gamma_)[channel] : 1.0f; }

  void computeMoments(int64_t numRows, float* mean, float* variance) {
    if (numRows > 0) {
      batchMoments(shape_, dataOf(input_.value), numRows, mean, variance, scratch());
    } else {
      std::fill_n(mean, channels(), 0.0f);
      std::fill_n(variance, channels(), 0.0f);
    }
    if (reducer_ == nullptr) return;
    double count = static_cast<double>(numRows * shape_.spatial);
    size_t size = static_cast<size_t>(channels());
    for (size_t i = 0; i < size; ++i) {
      reduced_[i] = mean[i] * count;
      reduced_[size + i] = (double{variance[i]} + double{mean[i]} * mean[i]) * count;
    }
    reduced_.back() = count;
    reducer_->add(reduced_);
    for (size_t i = 0; i < size && reduced_.back() > 0; ++i) {
      double center = reduced_[i] / reduced_.back();
      mean[i] = static_cast<float>(center);
      variance[i] = static_cast<float>(std::max(reduced_[size + i] / reduced_.back() - center * center, 0.0));
    }
  }

  // Over all workers; returns their number of values.
  double reduceSums(double count) {
    size_t size = static_cast<size_t>(channels());
    for (size_t i = 0; i < size; ++i) {
      reduced_[i] = moment(2)[i];
      reduced_[size + i] = moment(3)[i];
    }
    reduced_.back() = count;
    reducer_->add(reduced_);
    for (size_t i = 0; i < size; ++i) {
      moment(2)[i] = static_cast<float>(reduced_[i]);
      moment(3)[i] = static_cast<float>(reduced_[size + i]);
    }
    return reduced_.back();
  }

  void writeGradients(const Pass& pass) {
    const float *mean = moment(0), *variance = moment(1), *sums = moment(2), *withValues = moment(3);
    float share = static_cast<float>(pass.batch.rowShare);
    for (int64_t i = 0; i < channels(); ++i) {
      float inverse = 1 / std::sqrt(variance[i] + static_cast<float>(layer_.epsilon));
      if (gammaGradient_) dataOf(gammaGradient_)[i] = withValues[i] * inverse;
      if (betaGradient_) dataOf(betaGradient_)[i] = sums[i];
      dataOf(meanStatistic_)[i] = mean[i] * share;
      dataOf(varianceStatistic_)[i] = variance[i] * share;
    }
  }

  network::BatchNormalization layer_;
  BatchNormShape shape_;
  bool relu_, trains_;
  bool ofBatch_ = false;  // the last forward used the batch's own moments
  int64_t batchSize_;
  Reducer* reducer_;
  Edge input_, output_;
  dnnl::memory gamma_, beta_, runningMean_, runningVariance_;
  dnnl::memory gammaGradient_, betaGradient_, meanStatistic_, varianceStatistic_;
  dnnl::memory moments_, factors_, scratch_;  // mean, variance, two sums; scale, shift, a, b, c; partial sums (double)
  std::vector<double> reduced_;
};

// Of channels side by side, in a layout that the kernels can read; 0 for any other.
int64_t blockOf(const Edge& edge, const PlanBuilder& builder) {
  dnnl::memory::desc desc = edge.value.get_desc();
  int64_t block = desc.get_ndims() == 4 ? builder.channelBlock(desc) : 0;
  return block == 0 && desc == builder.canonical(edge.shape) ? edge.shape.extents().back() : block;
}

}  // namespace

bool takesAsItIs(const network::BatchNormalization&, const Edge& edge, const PlanBuilder& builder) {
  return blockOf(edge, builder) != 0;
}

Edge planLayer(const network::BatchNormalization& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.settled(site.input());
  if (blockOf(input, builder) == 0) input = builder.plain(input);
  int64_t channels = site.node.output.extents().back(), block = blockOf(input, builder);
  BatchNormShape shape{channels / block, site.node.output.numElements() / channels, block};
  Edge output = builder.edge(site.node.output, input.value.get_desc(),
                             builder.trains(site.node) || static_cast<bool>(input.gradient));
  output.gradientIsOnlyRead = true;
  builder.add(std::make_unique<BatchNormStep>(layer, site, input, output, shape, builder), &site.node);
  return output;
}

}  // namespace bloomery::nn
