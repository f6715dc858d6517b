// What a user sees of a network: the table that `network.summary()` prints and the same facts as JSON.
#pragma once

#include <string>

#include "network/Graph.h"

namespace bloomery::network {

std::string summaryTable(const Graph& graph);

// {"layers": [...], "parameters", "trainableParameters", "flopsPerSample", "input", "output", "inputs", "outputs",
// "summary"}
Json describe(const Graph& graph);

}  // namespace bloomery::network
