#include "data/arrow/RecyclingPool.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/RestingPages.h"

namespace bloomery::data {

namespace {

// Below, the system is quick; beyond so much that is kept unused, memory is lent to it.
constexpr int64_t kSmallest = 64 << 10;
constexpr int64_t kMostKept = 32 << 20;
constexpr int64_t kAlignment = 64;

// Four sizes for each power of two.
int64_t capacityOf(int64_t size) {
  int64_t unit = std::max<int64_t>(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))) / 4, 1);
  return (size + unit - 1) / unit * unit;
}

bool isRecycled(int64_t size, int64_t alignment) { return size >= kSmallest && alignment <= kAlignment; }

class RecyclingPool final : public arrow::MemoryPool {
 public:
  using MemoryPool::Allocate;
  using MemoryPool::Free;
  using MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (!isRecycled(size, alignment)) return system_->Allocate(size, alignment, out);
    int64_t capacity = capacityOf(size);
    {
      std::lock_guard lock(mutex_);
      auto found = kept_.find(capacity);
      if (found != kept_.end() && !found->second.empty()) {
        *out = found->second.back();
        found->second.pop_back();
        keptBytes_ -= capacity;
        return arrow::Status::OK();
      }
    }
    void* taken = takeRestedPages(static_cast<size_t>(capacity), kAlignment).memory;
    if (taken == nullptr) return arrow::Status::OutOfMemory("No memory for decoding: ", capacity, " bytes");
    *out = static_cast<uint8_t*>(taken);
    bytesTaken_ += capacity;
    return arrow::Status::OK();
  }

  arrow::Status Reallocate(int64_t oldSize, int64_t newSize, int64_t alignment, uint8_t** memory) override {
    bool wasRecycled = isRecycled(oldSize, alignment), isNow = isRecycled(newSize, alignment);
    if (!wasRecycled && !isNow) return system_->Reallocate(oldSize, newSize, alignment, memory);
    if (wasRecycled && isNow && capacityOf(oldSize) == capacityOf(newSize)) return arrow::Status::OK();
    uint8_t* other = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(newSize, alignment, &other));
    std::memcpy(other, *memory, static_cast<size_t>(std::min(oldSize, newSize)));
    Free(*memory, oldSize, alignment);
    *memory = other;
    return arrow::Status::OK();
  }

  void Free(uint8_t* memory, int64_t size, int64_t alignment) override {
    if (!isRecycled(size, alignment)) return system_->Free(memory, size, alignment);
    int64_t capacity = capacityOf(size);
    {
      std::lock_guard lock(mutex_);
      if (numKeepers_ > 0 && keptBytes_ + capacity <= kMostKept) {
        kept_[capacity].push_back(memory);
        keptBytes_ += capacity;
        return;
      }
    }
    giveBack(memory, capacity);
  }

  void ReleaseUnused() override {
    std::map<int64_t, std::vector<uint8_t*>> unused;
    {
      std::lock_guard lock(mutex_);
      unused.swap(kept_);
      keptBytes_ = 0;
    }
    for (const auto& [capacity, all] : unused) {
      for (uint8_t* memory : all) giveBack(memory, capacity);
    }
  }

  void addKeeper() {
    std::lock_guard lock(mutex_);
    ++numKeepers_;
  }

  void removeKeeper() {
    bool isLast = false;
    {
      std::lock_guard lock(mutex_);
      isLast = --numKeepers_ == 0;
    }
    if (isLast) ReleaseUnused();
  }

  // What is not recycled is counted by the system's pool.
  int64_t bytes_allocated() const override { return bytesTaken_; }
  int64_t max_memory() const override { return -1; }  // not known
  int64_t total_bytes_allocated() const override { return system_->total_bytes_allocated(); }
  int64_t num_allocations() const override { return system_->num_allocations(); }
  std::string backend_name() const override { return "recycling"; }

 private:
  void giveBack(uint8_t* memory, int64_t capacity) {
    restPages(memory, static_cast<size_t>(capacity), kAlignment);
    bytesTaken_ -= capacity;
  }

  arrow::MemoryPool* system_ = arrow::system_memory_pool();
  std::mutex mutex_;
  std::map<int64_t, std::vector<uint8_t*>> kept_;  // by capacity
  int64_t keptBytes_ = 0;
  std::atomic<int64_t> bytesTaken_ = 0;  // kept ones included
  int64_t numKeepers_ = 0;
};

// Never destroyed: the last buffer may go when the process ends.
RecyclingPool& thePool() {
  static auto* pool = new RecyclingPool;
  return *pool;
}

}  // namespace

arrow::MemoryPool* recyclingPool() { return &thePool(); }

std::shared_ptr<void> keepRecycling() {
  RecyclingPool& pool = thePool();
  pool.addKeeper();
  return {&pool, [](RecyclingPool* kept) { kept->removeKeeper(); }};
}

}  // namespace bloomery::data
