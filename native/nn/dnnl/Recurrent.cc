// LSTM and GRU: one product for the inputs of all steps, then step by step the product of the output before and the
// gates. Steps that are skipped, by a mask or at the end of short rows, are not computed at all.
#include <algorithm>

#include "nn/Packing.h"
#include "nn/dnnl/LayerPlans.h"
#include "nn/dnnl/RowProduct.h"
#include "nn/kernels/ColumnSums.h"
#include "nn/kernels/Gates.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
using network::Recurrent;

// One direction of a layer.
class Direction {
 public:
  struct Place {
    bool backwards;        // reads the sequence from its end
    bool writesBackwards;  // and writes its outputs where it read
    size_t firstParameter;
    int64_t offset;  // among the outputs
    bool adds;       // to the input gradient, where another direction has written
  };

  Direction(const Recurrent& layer, const network::Node& node, const Edge& input, const Edge& output,
            const Place& place, PlanBuilder& builder)
      : layer_(layer),
        place_(place),
        features_(node.input[1]),
        units_(layer.units),
        width_(layer.numGates() * layer.units),
        outputWidth_(node.output.extents().back()),
        gru_(layer.cell == Recurrent::Cell::kGru),
        input_(input),
        output_(output),
        packing_(builder.options().batchSize, node.input[0], granuleOf(builder.options().batchSize)) {
    int64_t granule = granuleOf(builder.options().batchSize);
    int64_t capacity = packing_.capacity(), batch = capacity / packing_.steps();
    auto buffer = [&](int64_t rows, int64_t columns) {
      return builder.buffers().add(PlanBuilder::matrix(rows, columns));
    };
    packed_ = buffer(capacity, features_);
    gates_ = buffer(capacity, width_);
    before_ = buffer(capacity, units_);
    now_ = buffer(batch, units_);
    if (gru_) {
      recurrent_ = buffer(capacity, width_);
    } else {
      stateBefore_ = buffer(capacity, units_);
      state_ = buffer(batch, units_);
    }
    for (const dnnl::memory& memory : {input.value, output.value, packed_, gates_, before_, now_}) {
      builder.use(Phase::kForward, memory);
    }
    builder.use(Phase::kForward, gru_ ? recurrent_ : stateBefore_);
    if (!gru_) builder.use(Phase::kForward, state_);
    if (input.indices) builder.use(Phase::kForward, input.indices);

    size_t first = place.firstParameter;
    auto kernelDesc = PlanBuilder::matrix(features_, width_), recurrentDesc = PlanBuilder::matrix(units_, width_);
    kernel_ = builder.parameter(node, first, kernelDesc);
    recurrentKernel_ = builder.parameter(node, first + 1, recurrentDesc);
    dnnl::memory::desc biasDesc({(gru_ ? 2 : 1) * width_}, DataType::f32, Tag::a);
    if (layer.useBias) bias_ = builder.parameter(node, first + 2, biasDesc);
    inputProduct_ = std::make_unique<RowProduct>(Phase::kForward, capacity, 1, kernel_, false, false, builder);
    stepProduct_ =
        std::make_unique<RowProduct>(Phase::kForward, batch, granule, recurrentKernel_, false, !gru_, builder);
    if (!output.gradient) return;

    gateGradients_ = buffer(capacity, width_);
    outputGradient_ = buffer(batch, units_);
    if (gru_) {
      recurrentGradients_ = buffer(capacity, width_);
      direct_ = buffer(batch, units_);
    } else {
      stateGradient_ = buffer(batch, units_);
    }
    for (const dnnl::memory& memory : {packed_, gates_, before_, gateGradients_, outputGradient_, output.gradient}) {
      builder.use(Phase::kBackward, memory);
    }
    for (const dnnl::memory& memory :
         gru_ ? std::vector{recurrent_, recurrentGradients_, direct_} : std::vector{stateBefore_, stateGradient_}) {
      builder.use(Phase::kBackward, memory);
    }
    stepGradient_ =
        std::make_unique<RowProduct>(Phase::kBackward, batch, granule, recurrentKernel_, true, false, builder);
    if (builder.trains(node)) {
      kernelGradient_ = std::make_unique<GradientProduct>(capacity, features_, width_,
                                                          builder.gradient(node, first, kernelDesc), builder);
      recurrentKernelGradient_ = std::make_unique<GradientProduct>(
          capacity, units_, width_, builder.gradient(node, first + 1, recurrentDesc), builder);
      if (layer.useBias) biasGradient_ = builder.gradient(node, first + 2, biasDesc);
    }
    if (input.gradient) {
      inputGradient_ = std::make_unique<RowProduct>(Phase::kBackward, capacity, 1, kernel_, true, false, builder);
      builder.use(Phase::kBackward, input.gradient);
    }
  }

  void forward(const Pass& pass) {
    packing_.build(input_.indices ? dataOf(input_.indices) : nullptr, pass.batch.numRows, place_.backwards);
    pack();
    inputProduct_->prepare(pass.stream);
    stepProduct_->prepare(pass.stream);
    inputProduct_->run(pass.stream, packing_.numRows(), dataOf(packed_), dataOf(gates_));
    addBias(dataOf(gates_), packing_.numRows(), 0);
    int64_t batch = packing_.capacity() / packing_.steps();
    std::fill_n(dataOf(now_), batch * units_, 0.0f);
    if (!gru_) std::fill_n(dataOf(state_), batch * units_, 0.0f);
    for (int64_t step = 0; step < packing_.longest(); ++step) {
      int64_t rows = packing_.padded(step), at = packing_.offset(step);
      std::copy_n(dataOf(now_), rows * units_, dataOf(before_) + at * units_);
      float* gates = dataOf(gates_) + at * width_;
      if (gru_) {
        float* recurrent = dataOf(recurrent_) + at * width_;
        stepProduct_->run(pass.stream, rows, dataOf(before_) + at * units_, recurrent);
        addBias(recurrent, rows, width_);
        gruForward(rows, units_, gates, recurrent, dataOf(now_));
      } else {
        std::copy_n(dataOf(state_), rows * units_, dataOf(stateBefore_) + at * units_);
        stepProduct_->run(pass.stream, rows, dataOf(before_) + at * units_, gates);
        lstmForward(rows, units_, gates, dataOf(state_), dataOf(now_));
      }
      writeOutputs(step);
    }
  }

  void backward(const Pass& pass) {
    stepGradient_->prepare(pass.stream);
    int64_t batch = packing_.capacity() / packing_.steps(), numRows = packing_.numRows();
    std::fill_n(dataOf(outputGradient_), batch * units_, 0.0f);
    if (!gru_) std::fill_n(dataOf(stateGradient_), batch * units_, 0.0f);
    for (int64_t step = packing_.longest() - 1; step >= 0; --step) {
      int64_t rows = packing_.active(step), at = packing_.offset(step), padded = packing_.padded(step);
      addOuterGradients(step);
      float* gates = dataOf(gateGradients_) + at * width_;
      const float* own = dataOf(gates_) + at * width_;
      std::fill(gates + rows * width_, gates + padded * width_, 0.0f);
      float* toBefore = gates;
      if (gru_) {
        float* recurrent = dataOf(recurrentGradients_) + at * width_;
        std::fill(recurrent + rows * width_, recurrent + padded * width_, 0.0f);
        gruBackward(rows, units_, own, dataOf(recurrent_) + at * width_, dataOf(before_) + at * units_,
                    dataOf(outputGradient_), gates, recurrent);
        std::copy_n(dataOf(outputGradient_), rows * units_, dataOf(direct_));
        toBefore = recurrent;
      } else {
        lstmBackward(rows, units_, own, dataOf(stateBefore_) + at * units_, dataOf(outputGradient_),
                     dataOf(stateGradient_), gates);
      }
      stepGradient_->run(pass.stream, padded, toBefore, dataOf(outputGradient_));
      for (int64_t i = 0; gru_ && i < rows * units_; ++i) dataOf(outputGradient_)[i] += dataOf(direct_)[i];
    }
    const dnnl::memory& recurrentSide = gru_ ? recurrentGradients_ : gateGradients_;
    if (kernelGradient_ != nullptr) {
      kernelGradient_->run(pass.stream, numRows, dataOf(packed_), dataOf(gateGradients_));
      recurrentKernelGradient_->run(pass.stream, numRows, dataOf(before_), dataOf(recurrentSide));
    }
    if (biasGradient_) {
      columnSums(dataOf(gateGradients_), numRows, width_, dataOf(biasGradient_));
      if (gru_) columnSums(dataOf(recurrentGradients_), numRows, width_, dataOf(biasGradient_) + width_);
    }
    if (inputGradient_ != nullptr) {
      inputGradient_->prepare(pass.stream);
      inputGradient_->run(pass.stream, numRows, dataOf(gateGradients_), dataOf(packed_));
      unpackGradients();
    }
  }

 private:
  static int64_t granuleOf(int64_t batch) { return std::max<int64_t>(1, (batch + 15) / 16); }

  // Where the position of a step, counted as it runs, is read and written.
  int64_t readAt(int64_t position) const { return place_.backwards ? packing_.steps() - 1 - position : position; }
  int64_t writtenAt(int64_t position) const {
    return place_.writesBackwards ? packing_.steps() - 1 - position : position;
  }

  void pack() {
    for (int64_t step = 0; step < packing_.longest(); ++step) {
      float* to = dataOf(packed_) + packing_.offset(step) * features_;
      for (int64_t place = 0; place < packing_.active(step); ++place) {
        int64_t from = packing_.row(place) * packing_.steps() + readAt(packing_.position(place, step));
        std::copy_n(dataOf(input_.value) + from * features_, features_, to + place * features_);
      }
      std::fill(to + packing_.active(step) * features_, to + packing_.padded(step) * features_, 0.0f);
    }
  }

  void unpackGradients() {
    float* gradients = dataOf(input_.gradient);
    if (!place_.adds) std::fill_n(gradients, packing_.batch() * packing_.steps() * features_, 0.0f);
    for (int64_t step = 0; step < packing_.longest(); ++step) {
      const float* from = dataOf(packed_) + packing_.offset(step) * features_;
      for (int64_t place = 0; place < packing_.active(step); ++place) {
        int64_t row = packing_.row(place) * packing_.steps() + readAt(packing_.position(place, step));
        float* to = gradients + row * features_;
        for (int64_t i = 0; i < features_; ++i) to[i] += from[place * features_ + i];
      }
    }
  }

  void addBias(float* gates, int64_t rows, int64_t first) {
    if (!bias_) return;
    const float* bias = dataOf(bias_) + first;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < width_; ++i) gates[row * width_ + i] += bias[i];
    }
  }

  // Calls visit(place, position) for every position whose output is this step's: a skipped step repeats the one before.
  template <typename Visit>
  void forEachShown(int64_t step, Visit visit) const {
    for (int64_t place = 0; place < packing_.active(step); ++place) {
      bool last = step + 1 == packing_.length(place);
      int64_t end = last ? packing_.steps() : packing_.position(place, step + 1);
      for (int64_t position = packing_.position(place, step); position < end; ++position) visit(place, position);
    }
  }

  void writeOutputs(int64_t step) {
    float* out = dataOf(output_.value) + place_.offset;
    if (layer_.returnSequences) {
      forEachShown(step, [&](int64_t place, int64_t position) {
        int64_t row = packing_.row(place) * packing_.steps() + writtenAt(position);
        std::copy_n(dataOf(now_) + place * units_, units_, out + row * outputWidth_);
      });
      return;
    }
    for (int64_t place = 0; place < packing_.active(step); ++place) {
      if (step + 1 != packing_.length(place)) continue;
      std::copy_n(dataOf(now_) + place * units_, units_, out + packing_.row(place) * outputWidth_);
    }
  }

  void addOuterGradients(int64_t step) {
    const float* outer = dataOf(output_.gradient) + place_.offset;
    auto add = [&](int64_t place, int64_t row) {
      for (int64_t u = 0; u < units_; ++u) dataOf(outputGradient_)[place * units_ + u] += outer[row * outputWidth_ + u];
    };
    if (layer_.returnSequences) {
      forEachShown(step, [&](int64_t place, int64_t position) {
        add(place, packing_.row(place) * packing_.steps() + writtenAt(position));
      });
      return;
    }
    for (int64_t place = 0; place < packing_.active(step); ++place) {
      if (step + 1 == packing_.length(place)) add(place, packing_.row(place));
    }
  }

  Recurrent layer_;
  Place place_;
  int64_t features_, units_, width_, outputWidth_;
  bool gru_;
  Edge input_, output_;
  Packing packing_;
  dnnl::memory kernel_, recurrentKernel_, bias_, biasGradient_;
  // Packed by step: inputs (in backward: their gradients), gates, the output, state and recurrent product before.
  dnnl::memory packed_, gates_, before_, stateBefore_, recurrent_, gateGradients_, recurrentGradients_;
  dnnl::memory now_, state_, outputGradient_, stateGradient_, direct_;  // of one step
  std::unique_ptr<RowProduct> inputProduct_, stepProduct_, stepGradient_, inputGradient_;
  std::unique_ptr<GradientProduct> kernelGradient_, recurrentKernelGradient_;
};

class RecurrentStep final : public Step {
 public:
  RecurrentStep(const Recurrent& layer, const network::Node& node, const Edge& input, const Edge& output,
                PlanBuilder& builder)
      : size_(builder.options().batchSize * node.output.numElements()), output_(output) {
    directions_.push_back(std::make_unique<Direction>(
        layer, node, input, output, Direction::Place{layer.goBackwards, false, 0, 0, false}, builder));
    if (!layer.bidirectional) return;
    directions_.push_back(std::make_unique<Direction>(
        layer, node, input, output,
        Direction::Place{true, true, layer.useBias ? size_t{3} : size_t{2}, layer.units, true}, builder));
  }

  void forward(const Pass& pass) override {
    std::fill_n(dataOf(output_.value), size_, 0.0f);  // of rows without steps
    for (auto& direction : directions_) direction->forward(pass);
  }
  void backward(const Pass& pass) override {
    if (!output_.gradient) return;
    for (auto& direction : directions_) direction->backward(pass);
  }

 private:
  int64_t size_;
  Edge output_;
  std::vector<std::unique_ptr<Direction>> directions_;
};

}  // namespace

Edge planLayer(const Recurrent& layer, const Site& site, PlanBuilder& builder) {
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(site.node.output, builder.canonical(site.node.output),
                             builder.trains(site.node) || static_cast<bool>(input.gradient));
  builder.add(std::make_unique<RecurrentStep>(layer, site.node, input, output, builder), &site.node);
  return output;
}

}  // namespace bloomery::nn
