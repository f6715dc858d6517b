#include "train/Checkpointer.h"

#include <algorithm>

#include "base/Error.h"

namespace bloomery::train {

namespace {

using std::chrono::milliseconds;

// The longest between two signs of life of a worker that waits for room.
constexpr comm::Timeout kSignOfLife{50};

}  // namespace

Checkpointer::Checkpointer(const TaskSpec& task, Checkpoints* checkpoints, comm::Communicator& communicator,
                           const StepDeadline& deadline, const Cancellation& cancellation, Log* log)
    : slot_(task.checkpoint && checkpoints != nullptr ? &checkpoints->slot : nullptr),
      communicator_(communicator),
      deadline_(deadline),
      cancellation_(cancellation),
      log_(log),
      clock_(task.checkpoint.value_or(CheckpointSpec())) {}

bool Checkpointer::isWantedAfterStep() {
  if (slot_ == nullptr) return false;
  clock_.stepDone();
  return communicator_.rank() == 0 && clock_.isDue() && slot_->claim(milliseconds(0)) != nullptr;
}

// Rank 0 had room; another worker may need a moment more. Whoever has none leaves the checkpoint incomplete.
void Checkpointer::saveInEpoch(TrainState& state, const Position& position) {
  if (slot_ == nullptr) return;
  if (Snapshot* snapshot = slot_->claim(deadline_.timeout() / 4)) {
    save(state, position, *snapshot, false);
  } else if (log_ != nullptr) {
    log_->line(message("Checkpoint is left out: the one before is still being written, epoch ", position.epoch,
                       ", step ", position.step));
  }
  clock_.saved();
}

void Checkpointer::saveAfterEpoch(TrainState& state, const Position& position, bool finished) {
  if (slot_ == nullptr) return;
  clock_.epochDone();
  bool wanted = finished || (clock_.isDue() && slot_->claim(milliseconds(0)) != nullptr);
  comm::Activity::For what(communicator_.activity(), "checkpoint");
  if (communicator_.allgather(wanted ? 1 : 0, deadline_.timeout())[0] == 0) return;
  awaitRoom();
  save(state, position, *slot_->claim(milliseconds(0)), finished);
  clock_.saved();
}

void Checkpointer::awaitRoom() {
  double waiting = 0;
  do {
    cancellation_.throwIfCancelled();
    waiting = slot_->claim(std::min(deadline_.timeout() / 4, kSignOfLife)) == nullptr ? 1 : 0;
    communicator_.allreduce(std::span(&waiting, 1), deadline_.timeout());
  } while (waiting > 0);
}

void Checkpointer::save(TrainState& state, const Position& position, Snapshot& snapshot, bool finished) {
  state.write(position, finished, snapshot);
  slot_->publish();
}

}  // namespace bloomery::train
