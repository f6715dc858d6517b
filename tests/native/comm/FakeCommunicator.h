// Says that it is rank 0 of 2 and reduces nothing: notes how large each reduction was, and fails where a test wants it.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "comm/Communicator.h"

namespace bloomery::comm {

class FakeCommunicator : public Communicator {
 public:
  // Called with the number of each reduction, from 1.
  explicit FakeCommunicator(std::function<void(size_t)> reduce = [](size_t) {}) : reduce_(std::move(reduce)) {
    sizes_.reserve(1 << 16);  // noting allocates nothing
  }

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void allreduce(std::span<float> values, Timeout) override {
    std::lock_guard lock(mutex_);
    sizes_.push_back(values.size());
    reduce_(sizes_.size());
  }
  void allreduce(std::span<double>, Timeout) override {}
  std::vector<uint64_t> allgather(uint64_t value, Timeout) override { return {value, value}; }
  void broadcast(std::span<std::byte>, int, Timeout) override {}
  void abort() override {}

  std::vector<size_t> sizes() {
    std::lock_guard lock(mutex_);
    return sizes_;
  }

 private:
  std::function<void(size_t)> reduce_;
  std::mutex mutex_;
  std::vector<size_t> sizes_;
};

}  // namespace bloomery::comm
