// Saves the state of a training while it runs: rank 0 decides when, all workers save at the same place, and what they
// leave waits in their slots for somebody to write it. While rank 0's slot is taken nothing is saved; what was due then
// is saved later. Used on the compute thread.
#pragma once

#include <string>

#include "base/Cancellation.h"
#include "comm/Communicator.h"
#include "train/CheckpointSlot.h"
#include "train/StepDeadline.h"
#include "train/TrainState.h"

namespace bloomery::train {

// What a trainer's owner and its loop share.
struct Checkpoints {
  CheckpointSlot slot = {};
  std::string settings = "{}";  // those that a checkpoint keeps
  SavedState saved = {};        // to go on from, empty: from the beginning
};

class Checkpointer {
 public:
  // Everything is borrowed; checkpoints: nullptr when nobody takes any.
  Checkpointer(const TaskSpec& task, Checkpoints* checkpoints, comm::Communicator& communicator,
               const StepDeadline& deadline, const Cancellation& cancellation, Log* log);

  // Once for each step: what rank 0 tells the others to do after it.
  bool isWantedAfterStep();
  // All workers, when they were told to.
  void saveInEpoch(TrainState& state, const Position& position);
  // All workers after every epoch; `position` is that of the next one, if it is not `finished`.
  void saveAfterEpoch(TrainState& state, const Position& position, bool finished);

 private:
  // All workers: till every slot is free. Nobody is taken for dead meanwhile.
  void awaitRoom();
  void save(TrainState& state, const Position& position, Snapshot& snapshot, bool finished);

  CheckpointSlot* slot_;
  comm::Communicator& communicator_;
  const StepDeadline& deadline_;
  const Cancellation& cancellation_;
  Log* log_;
  CheckpointClock clock_;
};

}  // namespace bloomery::train
