#include "train/InstructionAgreement.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Instructions.h"

namespace bloomery::train {

namespace {

// "Not all workers have AVX-512: rank 1, 3 of 4 have AVX2. All are to compute with that"
std::string difference(const std::vector<Instructions>& levels, Instructions least) {
  std::string ranks;
  for (size_t rank = 0; rank < levels.size(); ++rank) {
    if (levels[rank] == least) ranks += message(ranks.empty() ? "" : ", ", rank);
  }
  return message("Not all workers have ", nameOf(*std::max_element(levels.begin(), levels.end())), ": rank ", ranks,
                 " of ", levels.size(), " has ", nameOf(least), ". All are to compute with that");
}

}  // namespace

std::string withInstructions(const std::string& address) { return static_cast<char>(instructions().level()) + address; }

std::vector<std::string> agreeOnInstructions(const std::vector<std::string>& told, int rank, Log& log) {
  std::vector<std::string> addresses;
  std::vector<Instructions> levels;
  for (const std::string& one : told) {
    check(!one.empty() && one[0] >= 0 && one[0] <= static_cast<char>(Instructions::kAvx512),
          "Not the address of a worker: rank ", addresses.size());
    levels.push_back(static_cast<Instructions>(one[0]));
    addresses.push_back(one.substr(1));
  }
  Instructions least = *std::min_element(levels.begin(), levels.end());
  bool differ = std::any_of(levels.begin(), levels.end(), [&](Instructions level) { return level != least; });
  if (differ && rank == 0) log.line(difference(levels, least));
  if (!instructions().limit(least)) {
    log.line(message("Rank ", rank, " still computes with ", nameOf(instructions().level()),
                     ", as its process did before, and not with ", nameOf(least),
                     ": a repeated training may differ in the last bits. To avoid it, set BLOOMERY_INSTRUCTIONS in "
                     "the environment of all workers"));
  }
  return addresses;
}

}  // namespace bloomery::train
