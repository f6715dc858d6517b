// One zeroed allocation with named slices in a fixed order: all parameters, all gradients, or all optimizer state of
// a network. Slices start at multiples of 64 bytes; the padding between them is zero and takes part in nothing, so
// that the whole arena can be reduced or updated as one range.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/MemoryFile.h"
#include "tensor/TensorView.h"

namespace bloomery {

struct Slice {
  std::string name;
  Shape shape;
  size_t offset = 0;  // in floats
  size_t size = 0;    // in floats, without padding
};

// Where each slice lies; shared by the arenas of parameters, gradients and optimizer state.
class ArenaLayout {
 public:
  size_t add(std::string name, Shape shape);  // index of the new slice
  const std::vector<Slice>& slices() const { return slices_; }
  const Slice& find(const std::string& name) const;  // InternalError when absent
  size_t numFloats() const { return numFloats_; }    // padding included

 private:
  std::vector<Slice> slices_;
  size_t numFloats_ = 0;
};

class Arena {
 public:
  enum class Memory { kOwn, kShareable };

  // Shareable memory can be mapped by other processes, where the system has it to give.
  explicit Arena(size_t numFloats, Memory memory = Memory::kOwn);
  explicit Arena(const ArenaLayout& layout) : Arena(layout.numFloats()) {}

  std::span<float> all() const { return {data_, numFloats_}; }
  TensorView view(const Slice& slice) const { return {data_ + slice.offset, slice.shape}; }
  void clear();
  // That it lies in; not there where the memory is this process's own.
  const MemoryFile& file() const { return file_; }

 private:
  struct Free {
    size_t bytes;
    void operator()(float* data) const;
  };
  void share(size_t bytes);

  MemoryFile file_;
  MappedPages pages_;  // of that
  std::unique_ptr<float[], Free> own_;
  float* data_ = nullptr;  // in one of the two
  size_t numFloats_;
};

}  // namespace bloomery
