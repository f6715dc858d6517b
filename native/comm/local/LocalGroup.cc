#include "comm/local/LocalGroup.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

// What a rank brings to an operation. All ranks must bring the same kind and size.
struct Part {
  const char* operation = nullptr;  // null: the rank has not come
  std::span<std::byte> bytes;
  const Activity* activity = nullptr;  // of the rank
};

// Meets the ranks for one operation after another. The last to come does the work while the others wait.
class Group {
 public:
  explicit Group(int size) : parts_(static_cast<size_t>(size)) {}

  int size() const { return static_cast<int>(parts_.size()); }

  using Work = void (*)(std::vector<Part>& parts, int root);
  void meet(int rank, Part part, int root, Timeout timeout, Work work);
  void leave(int rank) { lose(rank, "it closed its connections"); }
  void abort(int rank) { lose(rank, kAborted); }

 private:
  static constexpr const char* kAborted = "it was told to stop";

  void lose(int rank, const std::string& reason);
  void loseLocked(int rank, const std::string& reason);
  [[noreturn]] void fail(int rank, const Part& part) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  uint64_t round_ = 0;
  int lost_ = -1;       // the rank that made the group useless
  std::string reason_;  // empty: the group works
};

std::string describe(int rank, int size, const Part& part) {
  return message(part.activity->now().text(), " on rank ", rank, " of ", size);
}

void Group::lose(int rank, const std::string& reason) {
  std::lock_guard lock(mutex_);
  loseLocked(rank, reason);
}

// Only the first cause counts.
void Group::loseLocked(int rank, const std::string& reason) {
  if (!reason_.empty()) return;
  lost_ = rank;
  reason_ = reason;
  changed_.notify_all();
}

void Group::fail(int rank, const Part& part) const {
  if (lost_ == rank && reason_ == kAborted) {
    throw Cancelled(message("Communication was aborted during ", describe(rank, size(), part)));
  }
  if (lost_ == rank) throw PeerLost(message("Others gave up this rank before ", describe(rank, size(), part)));
  throw PeerLost(message("Lost contact with rank ", lost_, " during ", describe(rank, size(), part), ": ", reason_));
}

void Group::meet(int rank, Part part, int root, Timeout timeout, Work work) {
  std::unique_lock lock(mutex_);
  if (!reason_.empty()) fail(rank, part);
  parts_[static_cast<size_t>(rank)] = part;
  auto missing = [&] { return std::ranges::find(parts_, nullptr, &Part::operation); };
  if (missing() == parts_.end()) {
    for (const Part& other : parts_) {
      if (std::strcmp(other.operation, part.operation) == 0 && other.bytes.size() == part.bytes.size()) continue;
      loseLocked(rank, "it does something else");
      throw InternalError(message("Ranks disagree: ", other.operation, " of ", other.bytes.size(), " bytes meets ",
                                  describe(rank, size(), part)));
    }
    work(parts_, root);
    std::ranges::fill(parts_, Part{});
    ++round_;
    changed_.notify_all();
    return;
  }
  const uint64_t round = round_;
  if (!changed_.wait_for(lock, timeout, [&] { return round_ != round || !reason_.empty(); })) {
    loseLocked(static_cast<int>(missing() - parts_.begin()),
               message("it did not come within ", timeout.count(), " ms"));
  }
  if (round_ == round) fail(rank, part);
}

template <typename T>
void sum(std::vector<Part>& parts, int) {
  T* sums = reinterpret_cast<T*>(parts[0].bytes.data());
  size_t count = parts[0].bytes.size() / sizeof(T);
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    const T* values = reinterpret_cast<const T*>(parts[rank].bytes.data());
    for (size_t i = 0; i < count; ++i) sums[i] += values[i];
  }
  for (size_t rank = 1; rank < parts.size(); ++rank) std::ranges::copy(parts[0].bytes, parts[rank].bytes.data());
}

template <HalfFormat format>
void sumHalves(std::vector<Part>& parts, int) {
  auto* sums = reinterpret_cast<uint16_t*>(parts[0].bytes.data());
  size_t count = parts[0].bytes.size() / sizeof(uint16_t);
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    addHalves(format, simdLevel(), sums, reinterpret_cast<const uint16_t*>(parts[rank].bytes.data()), count, sums);
  }
  for (size_t rank = 1; rank < parts.size(); ++rank) std::ranges::copy(parts[0].bytes, parts[rank].bytes.data());
}

// Each part is a table with one place per rank, of which a rank has filled its own.
void gather(std::vector<Part>& parts, int) {
  size_t bytes = sizeof(uint64_t);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    auto own = parts[rank].bytes.subspan(rank * bytes, bytes);
    for (Part& other : parts) std::memmove(other.bytes.data() + rank * bytes, own.data(), bytes);
  }
}

void copyFromRoot(std::vector<Part>& parts, int root) {
  auto source = parts[static_cast<size_t>(root)].bytes;
  for (Part& other : parts) {
    if (other.bytes.data() != source.data()) std::ranges::copy(source, other.bytes.data());
  }
}

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~LocalCommunicator() override { group_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void allreduce(std::span<float> values, Timeout timeout) override {
    meet("allreduce", std::as_writable_bytes(values), 0, timeout, sum<float>);
  }
  void allreduce(std::span<double> values, Timeout timeout) override {
    meet("allreduce", std::as_writable_bytes(values), 0, timeout, sum<double>);
  }
  void allreduceHalves(std::span<uint16_t> values, HalfFormat format, Timeout timeout) override {
    meet("allreduce", std::as_writable_bytes(values), 0, timeout,
         format == HalfFormat::kFp16 ? sumHalves<HalfFormat::kFp16> : sumHalves<HalfFormat::kBf16>);
  }
  std::vector<uint64_t> allgather(uint64_t value, Timeout timeout) override {
    std::vector<uint64_t> values(static_cast<size_t>(size()));
    values[static_cast<size_t>(rank_)] = value;
    meet("allgather", std::as_writable_bytes(std::span(values)), 0, timeout, gather);
    return values;
  }
  void broadcast(std::span<std::byte> bytes, int root, Timeout timeout) override {
    check(root >= 0 && root < size(), "No such rank: ", root, " of ", size());
    meet("broadcast", bytes, root, timeout, copyFromRoot);
  }
  void abort() override { group_->abort(rank_); }

 private:
  void meet(const char* operation, std::span<std::byte> bytes, int root, Timeout timeout, Group::Work work) {
    Activity::Operation current(activity(), operation, bytes.size());
    group_->meet(rank_, {operation, bytes, &activity()}, root, timeout, work);
  }

  std::shared_ptr<Group> group_;  // shared: the last rank to go takes it along
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> makeLocalGroup(int size) {
  check(size > 0, "Group without a rank: ", size);
  auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<LocalCommunicator>(group, rank));
  return ranks;
}

}  // namespace bloomery::comm
