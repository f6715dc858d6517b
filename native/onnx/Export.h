// A network with its weights as the bytes of an ONNX file. Its inputs are what a column holds (dtype and scale are
// inside), its outputs what the network says, behind a final softmax or sigmoid; both have the names of our layers, and
// any number of rows. What happens to columns before they are an input, vocabularies for instance, is not part of it.
#pragma once

#include <string>

#include "network/Graph.h"
#include "tensor/Arena.h"

namespace bloomery::onnx {

// Parameters are laid out as those of the graph.
std::string exportNetwork(const network::Graph& graph, const Arena& parameters);

}  // namespace bloomery::onnx
