// One plan function per layer kind: adds the steps of a layer to the plan and returns the edge that leaves it. The
// graph's layers are a variant, so a kind without a function does not compile.
#pragma once

#include "nn/dnnl/PlanBuilder.h"

namespace bloomery::nn {

// Takes an edge whose ReLU may be pending: the functions for pooling and dropout pass it on or do its part.
Edge planLayer(const network::Conv2D& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);
Edge planLayer(const network::MaxPool2D& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);
Edge planLayer(const network::Dropout& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);
Edge planLayer(const network::Flatten& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);
Edge planLayer(const network::Dense& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);
Edge planLayer(const network::Activation& layer, const network::Node& node, const Edge& input, PlanBuilder& builder);

// The step that takes the caller's features; it makes the first edge.
Edge planInput(const network::Node& node, PlanBuilder& builder);

}  // namespace bloomery::nn
