// Large messages between two ranks on one machine, through memory that both have mapped: the sender copies a message
// into a ring of its own, the receiver copies it out, and the kernel has no part in either. That there is a message is
// told elsewhere. Each rank writes only its own memory and reads the other's. Whether the other's can be had is tried
// out; containers and other users do not allow it. Only for peers that have proven who they are, and not where
// connections are encrypted. For one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/MemoryFile.h"

namespace bloomery::comm {

// Where a rank's memory is found, for its peers. Another network counts as another machine, so that a network is not
// passed by that somebody has put between the two.
struct MemoryPlace {
  static constexpr size_t kMarkBytes = 16;
  uint64_t network = 0;  // 0: not to be had
  int32_t process = 0;
  int32_t descriptor = 0;
  std::array<std::byte, kMarkBytes> mark{};  // with which it begins, and no other
};

// This rank's memory, with a ring for each of its peers, till all of them have mapped theirs.
class RingMemory {
 public:
  explicit RingMemory(int ranks);
  MemoryPlace place() const;

 private:
  friend class MessageRing;
  int ranks_;
  MemoryFile file_;
  std::array<std::byte, MemoryPlace::kMarkBytes> mark_{};
};

class MessageRing {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;

  // Between `rank`, whose memory is `own`, and `peer`; nothing where the peer's cannot be had from here.
  static std::optional<MessageRing> find(const RingMemory& own, int rank, int peer, const MemoryPlace& place);

  // Whether there was room: else the message has to go another way.
  bool put(std::span<const std::byte> message);
  // The next message that the peer has put, of which only the size is known.
  void take(std::span<std::byte> message);

 private:
  // What a rank writes for one peer: messages, and how far it has taken the peer's.
  struct Half {
    Half(const MemoryFile& file, int ranks, int forRank, bool writes);
    bool there() const { return head.data() != nullptr && ring.data() != nullptr; }
    std::atomic<uint64_t>& taken() const;

    MappedPages head, ring;
    int forRank;
  };
  MessageRing(Half own, Half peer) : own_(std::move(own)), peer_(std::move(peer)) {}

  Half own_, peer_;
  // Bytes that were ever put and taken, with those that were passed over.
  uint64_t put_ = 0, taken_ = 0;
};

}  // namespace bloomery::comm
