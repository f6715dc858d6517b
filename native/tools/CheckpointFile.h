// The state of a training of one worker as one file of this machine: the length of what is the worker's own in a line,
// that, and then what workers would share. It changes only when all of it is written.
#pragma once

#include <string>

#include "train/CheckpointSlot.h"
#include "train/TrainState.h"

namespace bloomery::tools {

void writeCheckpoint(const std::string& path, const train::Snapshot& snapshot);

// UserError when the file is none of these.
train::SavedState readCheckpoint(const std::string& path);

}  // namespace bloomery::tools
