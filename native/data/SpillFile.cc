#include "data/SpillFile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/Error.h"

namespace bloomery::data {

namespace {

int openUnnamed(const std::string& folder) {
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string name = folder + "/bloomery-XXXXXX";
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

// A file that has no name any more can be opened once more by the link to its descriptor.
int openDirect(int descriptor) {
  std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return ::open(link.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
}

}  // namespace

SpillFile::SpillFile(SpillFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      direct_(std::exchange(other.direct_, -1)) {}

SpillFile::~SpillFile() {
  if (direct_ >= 0) ::close(direct_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool SpillFile::open() {
  if (descriptor_ >= 0) return true;
  descriptor_ = openUnnamed(folder_);
  if (descriptor_ < 0) return false;
  direct_ = openDirect(descriptor_);
  return true;
}

bool SpillFile::write(std::span<const std::byte> bytes, int64_t offset) {
  if (!open()) return false;
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return true;
}

void SpillFile::read(int64_t offset, std::span<std::byte> to) const {
  for (size_t done = 0; done < to.size();) {
    ssize_t count = ::pread(descriptor_, to.data() + done, to.size() - done, offset + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw ResourceError(message("Rows on disk cannot be read back: folder ", folder_, ", ", to.size(),
                                  " bytes: ", count == 0 ? "the file is shorter" : std::strerror(errno)));
    }
    done += static_cast<size_t>(count);
  }
}

void SpillFile::readPiece(int64_t offset, std::span<std::byte> to) const {
  size_t done = 0;
  if (direct_ >= 0 && !isCached(offset, to.size())) {
    // That may reach beyond the end of the file.
    ssize_t count = ::pread(direct_, to.data(), aligned(to.size()), offset);
    if (count > 0) done = std::min(static_cast<size_t>(count), to.size());
  }
  // What a disk did not take as it was asked for comes the ordinary way.
  read(offset + static_cast<int64_t>(done), to.subspan(done));
}

bool SpillFile::isCached(int64_t offset, size_t bytes) const {
  static const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  int64_t first = offset / page * page;
  size_t length = bytes + static_cast<size_t>(offset - first);
  // Nothing is touched of it, so it takes no memory.
  void* mapped = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, first);
  if (mapped == MAP_FAILED) return true;
  std::vector<unsigned char> pages((length + static_cast<size_t>(page) - 1) / static_cast<size_t>(page));
  bool known = ::mincore(mapped, length, pages.data()) == 0;
  ::munmap(mapped, length);
  return !known || std::all_of(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; });
}

}  // namespace bloomery::data
