#include "base/RestingPages.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>

#include "base/Pages.h"

namespace bloomery {

namespace {

using Clock = std::chrono::steady_clock;

class Rest {
 public:
  // nullptr: it is for the caller to take a fresh one.
  void* take(size_t bytes, size_t alignment) {
    std::lock_guard lock(mutex_);
    numTaken_ += bytes;
    // What came last is the likeliest to be in a cache.
    auto last = std::find_if(blocks_.rbegin(), blocks_.rend(),
                             [&](const Block& block) { return block.bytes == bytes && block.alignment == alignment; });
    if (last != blocks_.rend()) {
      void* memory = last->memory;
      numBytes_ -= bytes;
      blocks_.erase(std::next(last).base());
      return memory;
    }
    while (!blocks_.empty() && numTaken_ + numBytes_ > mostTaken_) giveBackOldest();
    mostTaken_ = std::max(mostTaken_, numTaken_);
    return nullptr;
  }

  // bad_alloc where there is no room to note it.
  void add(void* memory, size_t bytes, size_t alignment) {
    std::lock_guard lock(mutex_);
    blocks_.push_back({memory, bytes, alignment, Clock::now()});
    numBytes_ += bytes;
  }

  // Of a block that was taken, and rests now or is the system's again.
  void leave(size_t bytes) {
    std::lock_guard lock(mutex_);
    numTaken_ -= bytes;
  }

  void giveBack(Clock::duration age) {
    std::lock_guard lock(mutex_);
    Clock::time_point since = Clock::now() - age;
    while (!blocks_.empty() && blocks_.front().since <= since) giveBackOldest();
    if (blocks_.empty()) mostTaken_ = numTaken_;
  }

  size_t numBytes() {
    std::lock_guard lock(mutex_);
    return numBytes_;
  }

 private:
  struct Block {
    void* memory;
    size_t bytes, alignment;
    Clock::time_point since;
  };

  void giveBackOldest() {
    returnPages(blocks_.front().memory, blocks_.front().bytes);
    numBytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }

  std::mutex mutex_;
  std::list<Block> blocks_;  // the oldest first
  size_t numBytes_ = 0;
  size_t numTaken_ = 0, mostTaken_ = 0;  // at once, now and since something rests
};

// Never destroyed: the last block may come when the process ends.
Rest& theRest() {
  static auto* rest = new Rest;
  return *rest;
}

}  // namespace

RestedPages takeRestedPages(size_t bytes, size_t alignment) noexcept {
  if (void* memory = theRest().take(bytes, alignment)) return {memory, false};
  void* fresh = takePages(bytes, alignment);
  if (fresh == nullptr) theRest().leave(bytes);
  return {fresh, true};
}

void restPages(void* memory, size_t bytes, size_t alignment) noexcept {
  if (memory == nullptr) return;
  theRest().leave(bytes);
  try {
    if (lendPages(memory, bytes)) return theRest().add(memory, bytes, alignment);
  } catch (const std::bad_alloc&) {
    // It goes back at once.
  }
  returnPages(memory, bytes);
}

void returnRestedPages(std::chrono::milliseconds age) noexcept { theRest().giveBack(age); }

size_t numRestingBytes() noexcept { return theRest().numBytes(); }

}  // namespace bloomery
