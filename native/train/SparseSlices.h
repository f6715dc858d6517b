// Which parameters have a gradient of which a step touches few rows, and large enough for that to matter: there, steps
// clear, reduce and update the touched rows alone. A pure function of the network, so that all workers agree.
#pragma once

#include <vector>

#include "comm/Bucketer.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

// Tables below 256 KiB are cleared in microseconds and cross a network in a message.
inline constexpr int64_t kSparseFloats = 1 << 16;

// By index in the layout, ascending: trained tables of Embeddings of at least so many floats. A regulariser pulls at
// every row, so that a table with one has none that is left alone.
std::vector<size_t> sparseSlices(const network::ParameterTable& parameters, int64_t fewestFloats = kSparseFloats);

// The same with their marks, for the reduction between so many ranks.
std::vector<comm::SparseTable> sparseTables(const TaskSpec& task, const GradientRows& rows, int ranks);

}  // namespace bloomery::train
