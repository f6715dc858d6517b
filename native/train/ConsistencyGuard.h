// Workers that train together hold the same parameters, to the last bit. Where they do not, something is broken, and
// going on would hide it: the guard names who differs, and in what.
#pragma once

#include <string>

#include "comm/Communicator.h"
#include "tensor/Arena.h"

namespace bloomery::train {

// Compares one hash of all parameters; only when those differ, one of each parameter in turn. Every rank calls it at
// the same time, and when they differ, every rank gets the InternalError. when: "after epoch 3".
void checkEqualParameters(const ArenaLayout& layout, const Arena& parameters, comm::Communicator& communicator,
                          comm::Timeout timeout, const std::string& when);

}  // namespace bloomery::train
