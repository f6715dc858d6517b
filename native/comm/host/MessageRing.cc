#include "comm/host/MessageRing.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace bloomery::comm {

namespace {

// A rank's memory begins with the mark; then comes, for each of its peers, how much of the peer's messages was taken,
// and behind these pages a ring for each of them.
constexpr size_t kLine = 64;  // of the cache: so much apart lie numbers, and messages begin at its multiples

static_assert(std::atomic<uint64_t>::is_always_lock_free);

size_t roundedUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t headBytes(int ranks) {
  return roundedUp(kLine * (1 + static_cast<size_t>(ranks)), static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

size_t fileBytes(int ranks) { return headBytes(ranks) + static_cast<size_t>(ranks) * MessageRing::kBytes; }

// 0 where it is not known.
uint64_t ownNetwork() {
  struct stat network = {};
  return stat("/proc/self/ns/net", &network) == 0 ? network.st_ino : 0;
}

bool beginsWith(const MemoryFile& file, const std::array<std::byte, MemoryPlace::kMarkBytes>& mark) {
  std::array<std::byte, MemoryPlace::kMarkBytes> found{};
  return pread(file.descriptor(), found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) && found == mark;
}

// Where a message lies that follows the first `before` bytes: in one piece, which may mean at the next beginning.
uint64_t beginOf(uint64_t before, size_t bytes) {
  size_t left = MessageRing::kBytes - before % MessageRing::kBytes;
  return bytes <= left ? before : before + left;
}

uint64_t endOf(uint64_t begin, size_t bytes) { return begin + roundedUp(bytes, kLine); }

}  // namespace

RingMemory::RingMemory(int ranks) : ranks_(ranks), file_(fileBytes(ranks)) {
  auto size = static_cast<ssize_t>(mark_.size());
  bool marked = getrandom(mark_.data(), mark_.size(), 0) == size &&
                pwrite(file_.descriptor(), mark_.data(), mark_.size(), 0) == size;
  if (!marked) file_ = {};
}

MemoryPlace RingMemory::place() const {
  if (!file_.there()) return {};
  return {ownNetwork(), getpid(), file_.descriptor(), mark_};
}

MessageRing::Half::Half(const MemoryFile& file, int ranks, int forRankIn, bool writes)
    : head(file, 0, headBytes(ranks), writes),
      ring(file, headBytes(ranks) + static_cast<size_t>(forRankIn) * kBytes, kBytes, writes),
      forRank(forRankIn) {}

// Of all zeros, as a new file has them, it is 0.
std::atomic<uint64_t>& MessageRing::Half::taken() const {
  return *reinterpret_cast<std::atomic<uint64_t>*>(head.data() + kLine * (1 + static_cast<size_t>(forRank)));
}

std::optional<MessageRing> MessageRing::find(const RingMemory& own, int rank, int peer, const MemoryPlace& place) {
  if (!own.file_.there() || place.network == 0 || place.network != ownNetwork()) return std::nullopt;
  MemoryFile file = MemoryFile::of(place.process, place.descriptor, fileBytes(own.ranks_));
  if (!file.there() || !beginsWith(file, place.mark)) return std::nullopt;
  MessageRing ring(Half(own.file_, own.ranks_, peer, true), Half(file, own.ranks_, rank, false));
  return ring.own_.there() && ring.peer_.there() ? std::optional(std::move(ring)) : std::nullopt;
}

bool MessageRing::put(std::span<const std::byte> message) {
  if (message.size() > kBytes) return false;
  uint64_t begin = beginOf(put_, message.size()), end = endOf(begin, message.size());
  if (end - peer_.taken().load(std::memory_order_acquire) > kBytes) return false;
  std::memcpy(own_.ring.data() + begin % kBytes, message.data(), message.size());
  put_ = end;
  return true;
}

void MessageRing::take(std::span<std::byte> message) {
  uint64_t begin = beginOf(taken_, message.size());
  std::memcpy(message.data(), peer_.ring.data() + begin % kBytes, message.size());
  taken_ = endOf(begin, message.size());
  own_.taken().store(taken_, std::memory_order_release);
}

}  // namespace bloomery::comm
