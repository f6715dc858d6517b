// What the plan functions of the layers build with: descriptors, buffers, operations, and the list of steps that
// becomes the plan. Notes for every buffer in which step it is used. Without arenas it plans sizes only.
#pragma once

#include <memory>
#include <vector>

#include "nn/dnnl/Buffers.h"
#include "nn/dnnl/CpuEngine.h"
#include "nn/dnnl/Operation.h"
#include "nn/dnnl/Step.h"

namespace bloomery::nn {

enum class Phase { kForward, kBackward };

class PlanBuilder {
 public:
  // The gradient of a parameter that other layers share, to be added to theirs.
  struct Addend {
    dnnl::memory from, to;
  };
  struct PlannedStep {
    std::unique_ptr<Step> step;
    const network::Node* node;  // whose parameter gradients are complete after this step's backward, or null
    std::vector<Addend> addends;
    size_t owner = 0;  // the node that is being planned
  };

  PlanBuilder(const network::Graph& graph, const Arena* parameters, const Arena* gradients, const PlanOptions& options);

  const dnnl::engine& engine() const { return engine_; }
  const PlanOptions& options() const { return options_; }
  dnnl::prop_kind forwardKind() const;

  // [batch, shape]: dense, channels last. Images and sequences, which are images of height 1, have four dimensions in
  // oneDNN's order, everything else two.
  dnnl::memory::desc canonical(const Shape& shape) const;
  // [batch, channels, height, width] in a layout of oneDNN's choice.
  dnnl::memory::desc image(const Shape& shape) const;
  // [rows, columns], dense.
  static dnnl::memory::desc matrix(int64_t rows, int64_t columns);
  // How many channels lie side by side in a layout of 32-bit images that our own kernels can read: 8, 16, or all of
  // them; 0 for any other layout, and where channels would have to be filled up to whole blocks.
  int64_t channelBlock(const dnnl::memory::desc& desc) const;
  // With the scratch memory that `operation` gives.
  dnnl::primitive_attr attributes() const;

  // The node's index-th parameter, where it lies in the arena, and where the next step added writes its gradient: in
  // the arena too, unless a layer behind has written there already.
  dnnl::memory parameter(const network::Node& node, size_t index, const dnnl::memory::desc& desc) const;
  dnnl::memory gradient(const network::Node& node, size_t index, const dnnl::memory::desc& desc);
  // The same for layers that share parameters and each add to the gradient themselves: always in the arena. Backward
  // begins with the last user, who clears it.
  dnnl::memory sharedGradient(const network::Node& node, size_t index, const dnnl::memory::desc& desc) const;
  bool isFirstUser(const network::Node& node) const;
  bool isLastUser(const network::Node& node) const;
  // Where the rows that are touched of that gradient are marked, or null.
  TouchedRows* rowsOf(const network::Node& node, size_t index) const;
  // Which of the network's inputs the node is.
  size_t inputIndex(const network::Node& node) const;
  // The layer's parameters are trained by this plan.
  bool trains(const network::Node& node) const { return options_.training && node.trainable; }

  Buffers& buffers() { return buffers_; }
  // A new value and, where wanted in a training plan, its gradient.
  Edge edge(const Shape& shape, const dnnl::memory::desc& desc, bool wantsGradient);
  // The same edge in another layout: adds a step that reorders, when there is anything to do.
  Edge reordered(const Edge& edge, const dnnl::memory::desc& desc);
  // The same edge with the ReLU's duty done: adds a step when it is pending.
  Edge settled(const Edge& edge);
  // One edge for each of several who take the same value; adds the step that adds up their gradients.
  std::vector<Edge> forked(const Edge& edge, size_t count);
  // The same for two, of whom the last edge's taker has his part of backward after the other's and adds up himself.
  std::vector<Edge> forkedWithAddend(const Edge& edge);
  // Dense, channels last: settled and reordered.
  Edge plain(const Edge& edge) { return reordered(settled(edge), canonical(edge.shape)); }

  // The step being planned is the next one added. Its operations note the use of their memory by themselves; memory
  // that it touches otherwise is noted by `use`.
  template <typename PrimitiveDesc>
  Operation operation(Phase phase, const PrimitiveDesc& desc, Arguments arguments) {
    dnnl::memory::desc scratch = desc.scratchpad_desc();
    if (scratch.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, buffers_.add(scratch));
    for (const auto& argument : arguments) use(phase, argument.second);
    return Operation(dnnl::primitive(desc.get()), std::move(arguments));
  }
  Operation reorder(Phase phase, const dnnl::memory& from, const dnnl::memory& to);
  // The same data in the wanted layout; adds the reorder that brings it there, when one is needed.
  dnnl::memory as(const dnnl::memory::desc& desc, const dnnl::memory& memory, Phase phase,
                  std::vector<Operation>& operations);
  // The same for a parameter, which needs no reorder in a pass when its values are fixed.
  dnnl::memory parameterAs(const dnnl::memory::desc& desc, const dnnl::memory& parameter, Phase phase,
                           std::vector<Operation>& operations);
  void use(Phase phase, const dnnl::memory& memory);
  // From now on until the next forward pass begins.
  void keep(const dnnl::memory& memory);
  void add(std::unique_ptr<Step> step, const network::Node* node = nullptr);

  // Steps added from now on belong to this node of the graph.
  void enter(size_t node) { owner_ = node; }

  std::vector<PlannedStep> takeSteps() { return std::move(steps_); }

 private:
  dnnl::memory slice(const Arena* arena, const network::Node& node, size_t index, const dnnl::memory::desc& desc) const;

  const network::Graph& graph_;
  ArenaLayout layout_;
  const Arena* parameters_;
  const Arena* gradients_;
  PlanOptions options_;
  dnnl::engine engine_ = cpuEngine();
  Buffers buffers_{engine_};
  std::vector<PlannedStep> steps_;
  size_t owner_ = 0;
  std::vector<Addend> addends_;  // of the step being planned
};

}  // namespace bloomery::nn
