#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/ColumnSums.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// From this many rows on the products with the kernel want it in oneDNN's own layout: they gain up to a seventh, and a
// reorder at each pass, since the optimizer has changed it, takes a fiftieth. With half as many nothing is gained,
// unless the kernel is fixed and no pass reorders it.
constexpr int64_t kManyRows = 1024;

// Three matrix products. With few rows they take the canonical kernel [in, out] as it is: measured for 9216 x 128 at
// batch 96 on one AVX-512 and one AVX2 core, as fast as in oneDNN's own layout, whose reorders of 4.7 MB come on top.
class DenseStep final : public Step {
 public:
  DenseStep(std::vector<Operation> forward, std::vector<Operation> kernelGradient, std::vector<Operation> inputGradient,
            int64_t batchSize, int64_t units, dnnl::memory outputGradient, dnnl::memory biasGradient)
      : forward_(std::move(forward)),
        kernelGradient_(std::move(kernelGradient)),
        inputGradient_(std::move(inputGradient)),
        batchSize_(batchSize),
        units_(units),
        outputGradient_(std::move(outputGradient)),
        biasGradient_(std::move(biasGradient)) {}

  void forward(const Pass& pass) override {
    for (const Operation& operation : forward_) operation.run(pass.stream);
  }

  void backward(const Pass& pass) override {
    if (biasGradient_) {
      columnSums(dataOf(outputGradient_), batchSize_, units_, dataOf(biasGradient_));
    }
    for (const Operation& operation : kernelGradient_) operation.run(pass.stream);
  }

  void backwardInput(const Pass& pass) override {
    for (const Operation& operation : inputGradient_) operation.run(pass.stream);
  }

 private:
  std::vector<Operation> forward_, kernelGradient_, inputGradient_;
  int64_t batchSize_, units_;
  dnnl::memory outputGradient_, biasGradient_;  // [batch, units], [units]; empty when there is none
};

// The layout that a product with the kernel asks for.
dnnl::memory::desc wanted(const dnnl::memory::desc& kernel, int64_t rows, const PlanOptions& options) {
  bool asItIs = rows < kManyRows && options.fixed == nullptr;
  return asItIs ? kernel : dnnl::memory::desc(kernel.get_dims(), DataType::f32, Tag::any);
}

}  // namespace

// The layer works on the last axis: whatever lies before it is rows.
Edge planLayer(const network::Dense& layer, const Site& site, PlanBuilder& builder) {
  const network::Node& node = site.node;
  int64_t inputs = node.input.extents().back(), units = layer.units;
  int64_t rows = builder.options().batchSize * (node.input.numElements() / inputs);
  Edge input = builder.plain(site.input());
  Edge output = builder.edge(node.output, builder.canonical(node.output),
                             builder.trains(node) || static_cast<bool>(input.gradient));
  output.reluPending = site.relu;
  output.gradientIsOnlyRead = true;
  auto asRows = [&](const dnnl::memory& memory, int64_t columns) {
    dnnl::memory::desc desc = PlanBuilder::matrix(rows, columns);
    return memory.get_desc() == desc ? memory : builder.buffers().alias(memory, desc);
  };
  dnnl::memory inputRows = asRows(input.value, inputs), outputRows = asRows(output.value, units);

  dnnl::memory::desc kernelDesc = PlanBuilder::matrix(inputs, units);
  bool useBias = layer.weights.useBias;
  dnnl::memory::desc biasDesc = useBias ? PlanBuilder::matrix(1, units) : dnnl::memory::desc();
  dnnl::primitive_attr attributes = builder.attributes();
  Ending ending = planEnding(site, PlanBuilder::matrix(1, units), builder);
  attributes.set_post_ops(ending.operations);
  std::vector<Operation> forward, forKernel, forInput;
  dnnl::matmul::primitive_desc forwardDesc(builder.engine(), inputRows.get_desc(),
                                           wanted(kernelDesc, rows, builder.options()), biasDesc, outputRows.get_desc(),
                                           attributes);
  Arguments arguments = {
      {DNNL_ARG_SRC, inputRows},
      {DNNL_ARG_WEIGHTS, builder.parameterAs(forwardDesc.weights_desc(), builder.parameter(node, 0, kernelDesc),
                                             Phase::kForward, forward)},
      {DNNL_ARG_DST, outputRows}};
  if (useBias) arguments.emplace_back(DNNL_ARG_BIAS, builder.parameter(node, 1, biasDesc));
  arguments.insert(arguments.end(), ending.arguments.begin(), ending.arguments.end());
  forward.push_back(builder.operation(Phase::kForward, forwardDesc, std::move(arguments)));

  dnnl::memory biasGradient, gradientRows;
  if (output.gradient) gradientRows = asRows(output.gradient, units);
  if (builder.trains(node)) {
    // Kernel gradient [in, out] = transposed input [in, rows] x output gradient [rows, out].
    dnnl::memory::desc transposedInput({inputs, rows}, DataType::f32, Tag::ba);
    dnnl::matmul::primitive_desc kernelGradient(builder.engine(), transposedInput, gradientRows.get_desc(), kernelDesc,
                                                builder.attributes());
    forKernel.push_back(builder.operation(Phase::kBackward, kernelGradient,
                                          {{DNNL_ARG_SRC, builder.buffers().alias(input.value, transposedInput)},
                                           {DNNL_ARG_WEIGHTS, gradientRows},
                                           {DNNL_ARG_DST, builder.gradient(node, 0, kernelDesc)}}));
    if (useBias) biasGradient = builder.gradient(node, 1, biasDesc);
  }
  if (input.gradient) {
    // Input gradient [rows, in] = output gradient [rows, out] x transposed kernel [out, in].
    dnnl::memory inputGradientRows = asRows(input.gradient, inputs);
    dnnl::memory::desc transposedKernel({units, inputs}, DataType::f32, Tag::ba);
    dnnl::matmul::primitive_desc inputGradient(builder.engine(), gradientRows.get_desc(),
                                               wanted(transposedKernel, rows, builder.options()),
                                               inputGradientRows.get_desc(), builder.attributes());
    dnnl::memory kernel = builder.as(inputGradient.weights_desc(), builder.parameter(node, 0, transposedKernel),
                                     Phase::kBackward, forInput);
    forInput.push_back(builder.operation(
        Phase::kBackward, inputGradient,
        {{DNNL_ARG_SRC, gradientRows}, {DNNL_ARG_WEIGHTS, kernel}, {DNNL_ARG_DST, inputGradientRows}}));
  }
  builder.add(std::make_unique<DenseStep>(std::move(forward), std::move(forKernel), std::move(forInput), rows, units,
                                          gradientRows, biasGradient),
              &node);
  return output;
}

}  // namespace bloomery::nn
