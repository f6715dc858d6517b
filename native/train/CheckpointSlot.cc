#include "train/CheckpointSlot.h"

namespace bloomery::train {

Snapshot* CheckpointSlot::claim(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return !filled_; }) ? &snapshot_ : nullptr;
}

void CheckpointSlot::publish() {
  {
    std::lock_guard lock(mutex_);
    filled_ = true;
  }
  changed_.notify_all();
}

const Snapshot* CheckpointSlot::await(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return filled_; }) ? &snapshot_ : nullptr;
}

void CheckpointSlot::release() {
  {
    std::lock_guard lock(mutex_);
    filled_ = false;
  }
  changed_.notify_all();
}

}  // namespace bloomery::train
