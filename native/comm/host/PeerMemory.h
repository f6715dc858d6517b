// The memory of a peer on the same machine, which the kernel lets this process read: what the peer would send is
// copied once, straight to its place, where a connection copies it twice and has the network's work in between. Whether
// it can be read is tried out; containers, other users and some kernels' settings do not allow it. Only for peers that
// have proven who they are, and not where connections are encrypted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace bloomery::comm {

// Where a rank's memory is found, for its peers. Another network counts as another machine, so that a network is not
// passed by that somebody has put between the two.
struct MemoryPlace {
  static constexpr size_t kMarkBytes = 16;
  uint64_t network = 0;  // 0: not to be read
  int64_t process = 0;
  uint64_t mark = 0;                          // an address
  std::array<std::byte, kMarkBytes> bytes{};  // that are found there, and nowhere else
};

// What peers find this process's memory by, as long as it lives.
class MemoryMark {
 public:
  MemoryMark();
  MemoryPlace place() const;

 private:
  std::unique_ptr<std::array<std::byte, MemoryPlace::kMarkBytes>> bytes_;  // does not move
};

class PeerMemory {
 public:
  // Nothing where it cannot be read from here.
  static std::optional<PeerMemory> find(const MemoryPlace& place);
  // std::system_error when the peer is gone.
  void read(uint64_t address, std::span<std::byte> to) const;

 private:
  explicit PeerMemory(int64_t process) : process_(process) {}
  int64_t process_;
};

}  // namespace bloomery::comm
