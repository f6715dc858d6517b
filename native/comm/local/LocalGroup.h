// N ranks as N threads of one process, for tests and for a single worker. Reduces in rank order, so that every rank
// gets the same bits.
#pragma once

#include <memory>
#include <vector>

#include "comm/Communicator.h"

namespace bloomery::comm {

// One communicator per rank, sharing the group's state.
std::vector<std::unique_ptr<Communicator>> makeLocalGroup(int size);

}  // namespace bloomery::comm
