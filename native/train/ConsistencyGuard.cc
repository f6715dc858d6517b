#include "train/ConsistencyGuard.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/Error.h"

namespace bloomery::train {

namespace {

uint64_t hashOf(std::span<const float> values) {
  uint64_t hash = values.size();
  for (size_t i = 0; i < values.size(); i += 2) {
    uint64_t word = 0;
    std::memcpy(&word, &values[i], std::min(sizeof(word), (values.size() - i) * sizeof(float)));
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

// Ranks whose hash is not the one that most have; that of the first ones when as many have another.
std::vector<size_t> oddOnes(const std::vector<uint64_t>& hashes) {
  auto usual = std::ranges::max_element(hashes, {}, [&](uint64_t hash) { return std::ranges::count(hashes, hash); });
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] != *usual) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

void checkEqualParameters(const ArenaLayout& layout, const Arena& parameters, comm::Communicator& communicator,
                          comm::Timeout timeout, const std::string& when) {
  std::vector<size_t> odd = oddOnes(communicator.allgather(hashOf(parameters.all()), timeout));
  if (odd.empty()) return;
  std::string tensor = "padding";  // where no parameter differs
  for (const Slice& slice : layout.slices()) {
    std::vector<size_t> here = oddOnes(communicator.allgather(hashOf(parameters.view(slice).span()), timeout));
    if (here.empty()) continue;
    odd = here;
    tensor = slice.name;
    break;
  }
  std::string ranks;
  for (size_t rank : odd) ranks += message(ranks.empty() ? "" : ", ", rank);
  throw InternalError(message("Parameters differ between workers ", when, ": first in ", tensor, ", rank ", ranks,
                              " of ", communicator.size()));
}

}  // namespace bloomery::train
