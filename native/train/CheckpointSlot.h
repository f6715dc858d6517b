// Where the compute thread leaves a copy of the training's state, and a thread of the owner takes it from, while
// training goes on. There is room for one: as long as it is not released no other is saved. Its memory is used again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace bloomery::train {

struct Snapshot {
  int64_t epoch = 1;  // that is under way
  int64_t step = 0;   // steps done of it; 0: the checkpoint lies between two epochs
  bool finished = false;
  std::string shared;  // what is the same on all workers: safetensors, on rank 0 only
  std::string own;     // what only this worker knows
};

class CheckpointSlot {
 public:
  // The compute thread: waits so long for room; nullptr when there is none. What it fills is the owner's after
  // `publish`.
  Snapshot* claim(std::chrono::milliseconds patience);
  void publish();

  // The owner: waits so long for a snapshot, nullptr when there is none; it is valid till it is released, written or
  // not.
  const Snapshot* await(std::chrono::milliseconds patience);
  void release();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool filled_ = false;
  Snapshot snapshot_;
};

}  // namespace bloomery::train
