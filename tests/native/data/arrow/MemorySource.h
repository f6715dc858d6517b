// A file that is a text, which counts how often it is read and can fail or wait where a test wants it to.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/Error.h"
#include "data/ByteSource.h"

namespace bloomery::data {

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, std::string bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  bool isLocal() const override { return local; }
  void read(int64_t position, std::span<std::byte> into) override {
    ++reads;
    mostBytes = std::max(mostBytes.load(), into.size());
    if (onRead) onRead(position);
    if (blocks) {
      std::unique_lock lock(mutex_);
      blocked = true;
      wake_.wait(lock, [this] { return cancelled_; });
      throw Cancelled("Reading was cancelled");
    }
    std::memcpy(into.data(), bytes_.data() + position, into.size());
  }
  std::shared_ptr<void> prepareThread() override {
    ++*prepared;
    return {nullptr, [count = prepared](void*) { --*count; }};  // the thread may outlive the source
  }
  void cancel() override {
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    wake_.notify_all();
  }

  std::function<void(int64_t)> onRead;  // may throw
  std::atomic<bool> blocks{false}, blocked{false};
  std::atomic<int> reads{0};
  std::atomic<size_t> mostBytes{0};  // read at once, by one thread
  bool local = false;
  std::shared_ptr<std::atomic<int>> prepared = std::make_shared<std::atomic<int>>(0);  // threads that are so now

 private:
  std::string name_, bytes_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool cancelled_ = false;
};

}  // namespace bloomery::data
