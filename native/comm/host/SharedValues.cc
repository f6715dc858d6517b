#include "comm/host/SharedValues.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace bloomery::comm {

namespace {

// Of one addition, so that what it writes is still near when it is copied.
constexpr size_t kBlock = 4096;

struct Part {
  size_t first, end;
};

// As Gloo's ring has it: at least two segments for each rank, as many for all.
Part partOf(size_t rank, size_t ranks, size_t numValues) {
  size_t bytes = numValues * sizeof(float);
  size_t segments = std::max((bytes + SharedValues::kSegmentBytes - 1) / SharedValues::kSegmentBytes, 2 * ranks);
  size_t perRank = (segments + ranks - 1) / ranks;
  size_t segmentValues = ((bytes + perRank * ranks - 1) / (perRank * ranks) + sizeof(float) - 1) / sizeof(float);
  size_t size = perRank * segmentValues;
  return {std::min(rank * size, numValues), std::min((rank + 1) * size, numValues)};
}

void add(float* sums, const float* left, const float* right, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] = left[i] + right[i];
}

}  // namespace

uint64_t SharedValues::nameOf(const Arena& values) {
  if (!values.file().there()) return 0;
  return static_cast<uint64_t>(getpid()) << 32 | static_cast<uint64_t>(values.file().descriptor());
}

SharedValues::SharedValues(const Arena& own, int rank, const std::vector<uint64_t>& names)
    : own_(own.all()), rank_(static_cast<size_t>(rank)), peers_(names.size()) {
  for (size_t peer = 0; peer < names.size(); ++peer) {
    if (peer == rank_ || names[peer] == 0 || !own.file().there()) continue;
    auto process = static_cast<int64_t>(names[peer] >> 32);
    MemoryFile file = MemoryFile::of(process, static_cast<int>(names[peer] & 0xFFFFFFFF), own.file().numBytes());
    if (file.there()) peers_[peer] = MappedPages(file, 0, file.numBytes(), true);
  }
}

bool SharedValues::complete() const {
  auto missing = std::ranges::count(peers_, nullptr, &MappedPages::data);
  return missing == 1;  // this rank's own
}

bool SharedValues::hold(std::span<const float> values) const {
  std::less_equal<> notAfter;
  return notAfter(own_.data(), values.data()) && notAfter(values.data() + values.size(), own_.data() + own_.size());
}

// Around the ring to this rank, whose values are added last.
size_t SharedValues::sumPart(std::span<float> values) const {
  auto offset = static_cast<size_t>(values.data() - own_.data());
  auto valuesOf = [&](size_t rank) { return reinterpret_cast<float*>(peers_[rank].data()) + offset; };
  Part part = partOf(rank_, peers_.size(), values.size());
  std::array<float, kBlock> passed;
  for (size_t first = part.first; first < part.end; first += kBlock) {
    size_t count = std::min(kBlock, part.end - first);
    size_t peer = (rank_ + peers_.size() - 1) % peers_.size();
    const float* sums = valuesOf(peer) + first;
    for (size_t left = peers_.size() - 2; left > 0; --left) {
      peer = (peer + peers_.size() - 1) % peers_.size();
      add(passed.data(), valuesOf(peer) + first, sums, count);
      sums = passed.data();
    }
    add(values.data() + first, values.data() + first, sums, count);
    for (size_t other = 0; other < peers_.size(); ++other) {
      if (other != rank_) std::memcpy(valuesOf(other) + first, values.data() + first, count * sizeof(float));
    }
  }
  return part.end - part.first;
}

}  // namespace bloomery::comm
