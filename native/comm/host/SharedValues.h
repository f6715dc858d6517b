// Values of which every rank on one machine has its own, in memory that all of them have mapped: each rank adds up its
// part of them and writes the sums to all. When all may begin, and when all have done their part, is settled elsewhere.
// The parts and the order of additions are those of Gloo's ring, so that the sums have the same bits. Borrows this
// rank's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/MemoryFile.h"
#include "tensor/Arena.h"

namespace bloomery::comm {

class SharedValues {
 public:
  // Pieces in which Gloo's ring moves values, which the parts follow.
  static constexpr size_t kSegmentBytes = size_t{1} << 20;

  // Values that peers find by this name; 0 where they cannot.
  static uint64_t nameOf(const Arena& values);
  // names: by rank, this rank's included.
  SharedValues(const Arena& own, int rank, const std::vector<uint64_t>& names);
  // Whether the memory of all ranks could be mapped.
  bool complete() const;

  bool hold(std::span<const float> values) const;
  // This rank's part of values that it holds, at the same place as every rank's; how many values that is.
  size_t sumPart(std::span<float> values) const;

 private:
  std::span<float> own_;
  size_t rank_;
  std::vector<MappedPages> peers_;  // by rank; none for this one
};

}  // namespace bloomery::comm
