// A flag that any thread may raise once and every loop of ours looks at. Shared by the threads of one trainer, which
// owns it.
#pragma once

#include <atomic>

#include "base/Error.h"

namespace bloomery {

class Cancellation {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_release); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void throwIfCancelled() const {
    if (cancelled()) throw Cancelled("Training was cancelled");
  }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace bloomery
