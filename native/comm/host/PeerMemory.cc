#include "comm/host/PeerMemory.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bloomery::comm {

namespace {

// 0 where it is not known.
uint64_t ownNetwork() {
  struct stat network = {};
  return stat("/proc/self/ns/net", &network) == 0 ? network.st_ino : 0;
}

// Bytes that were read, or -1 with the reason in errno.
ssize_t readSome(int64_t process, uint64_t address, std::span<std::byte> to) {
  iovec here = {to.data(), to.size()};
  iovec there = {reinterpret_cast<void*>(address), to.size()};
  return process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
}

}  // namespace

MemoryMark::MemoryMark() : bytes_(std::make_unique<std::array<std::byte, MemoryPlace::kMarkBytes>>()) {
  if (getrandom(bytes_->data(), bytes_->size(), 0) != static_cast<ssize_t>(bytes_->size())) bytes_.reset();
}

MemoryPlace MemoryMark::place() const {
  if (bytes_ == nullptr) return {};
  return {ownNetwork(), getpid(), reinterpret_cast<uint64_t>(bytes_->data()), *bytes_};
}

std::optional<PeerMemory> PeerMemory::find(const MemoryPlace& place) {
  if (place.network == 0 || place.network != ownNetwork()) return std::nullopt;
  std::array<std::byte, MemoryPlace::kMarkBytes> found{};
  bool there = readSome(place.process, place.mark, found) == static_cast<ssize_t>(found.size());
  return there && found == place.bytes ? std::optional(PeerMemory(place.process)) : std::nullopt;
}

void PeerMemory::read(uint64_t address, std::span<std::byte> to) const {
  while (!to.empty()) {
    ssize_t numBytes = readSome(process_, address, to);
    if (numBytes <= 0) throw std::system_error(numBytes < 0 ? errno : EFAULT, std::generic_category());
    address += static_cast<uint64_t>(numBytes);
    to = to.subspan(static_cast<size_t>(numBytes));
  }
}

}  // namespace bloomery::comm
