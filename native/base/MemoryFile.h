// Memory that several processes of one machine can map: a file without a name in any folder, found by those who may
// through the process that has it open. Its size is fixed from the beginning, so that who has mapped it can rely on its
// being there. For any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery {

class MemoryFile {
 public:
  MemoryFile() = default;
  // Of zeros; not there where the system has none to give.
  explicit MemoryFile(size_t numBytes);
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile();

  // The one that a process knows by this descriptor; not there where that is none of this size, or not to be had from
  // here. Nothing else is opened, whatever has the number.
  static MemoryFile of(int64_t process, int descriptor, size_t numBytes);

  bool there() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  size_t numBytes() const { return numBytes_; }

 private:
  int descriptor_ = -1;
  size_t numBytes_ = 0;
};

// Pages of such a file, also when that is closed.
class MappedPages {
 public:
  MappedPages() = default;
  // first: a multiple of a page
  MappedPages(const MemoryFile& file, size_t first, size_t numBytes, bool writes);
  MappedPages(MappedPages&& other) noexcept;
  MappedPages& operator=(MappedPages&& other) noexcept;
  ~MappedPages();
  std::byte* data() const { return data_; }  // null: they could not be mapped

 private:
  std::byte* data_ = nullptr;
  size_t numBytes_ = 0;
};

}  // namespace bloomery
