// One plan function per layer kind: adds the steps of a layer to the plan and returns the edge that leaves it. The
// graph's layers are a variant, so a kind without a function does not compile.
#pragma once

#include <span>

#include "nn/dnnl/PlanBuilder.h"

namespace bloomery::nn {

// Where a layer stands in the graph.
struct Site {
  const network::Node& node;
  std::span<const Edge> inputs;  // a ReLU may be pending: pooling and dropout pass it on or do its part
  bool relu = false;             // the layer's output goes through a ReLU, its own or that of the only layer behind it
  // In an inference plan: the batch normalization that is the only layer behind, which this layer does as well.
  const network::Node* norm = nullptr;
  // The only layer before, whose zeros this layer's windows stand on as well: the input is without them.
  const network::ZeroPadding* zeros = nullptr;

  const Edge& input() const { return inputs[0]; }
};

// A batch normalization works on an edge of this layout as it is, and can add to the gradient that it writes.
bool takesAsItIs(const network::BatchNormalization& layer, const Edge& edge, const PlanBuilder& builder);

// What a layer's kernel does to its output at the end: a folded batch normalization, a ReLU.
struct Ending {
  dnnl::post_ops operations;
  Arguments arguments;
};
// `factors`: [1, channels] with the dimensions of the output. Adds the step that computes them from the parameters.
Ending planEnding(const Site& site, const dnnl::memory::desc& factors, PlanBuilder& builder);

Edge planLayer(const network::Input& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Convolution& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Pooling& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::BatchNormalization& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::LayerNormalization& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Normalization& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Dropout& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Flatten& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Reshape& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::ZeroPadding& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Rescaling& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Dense& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Activation& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Embedding& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Recurrent& layer, const Site& site, PlanBuilder& builder);
Edge planLayer(const network::Merge& layer, const Site& site, PlanBuilder& builder);

}  // namespace bloomery::nn
