// A file on disk that has no name, so that its bytes go when the process does, however it ends. Pieces that the page
// cache no longer holds are read past it: what is read once an epoch would only push out what is used again, and a
// process whose memory is limited pays for every page that comes and goes. One thread writes, any thread reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bloomery::data {

class SpillFile {
 public:
  // Of places in the file and in memory where pieces begin, so that disks take them as they are.
  static constexpr size_t kAlignment = 4096;
  static size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  // Nothing is opened before something is written.
  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}
  ~SpillFile();
  SpillFile(SpillFile&& other) noexcept;
  SpillFile& operator=(SpillFile&&) = delete;

  const std::string& folder() const { return folder_; }
  // False, with errno, when the folder does not take them.
  bool write(std::span<const std::byte> bytes, int64_t offset);
  // ResourceError when they cannot be read.
  void read(int64_t offset, std::span<std::byte> to) const;
  // A piece that begins at a multiple of kAlignment, in memory of aligned(to.size()) bytes.
  void readPiece(int64_t offset, std::span<std::byte> to) const;

 private:
  bool open();
  bool isCached(int64_t offset, size_t bytes) const;

  std::string folder_;
  int descriptor_ = -1;
  int direct_ = -1;  // the same file past the page cache; none where the system cannot do that
};

}  // namespace bloomery::data
