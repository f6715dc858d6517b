#include "base/MemoryFile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace bloomery {

namespace {

constexpr const char* kName = "bloomery";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

bool hasSize(int descriptor, size_t numBytes) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && static_cast<size_t>(status.st_size) == numBytes;
}

}  // namespace

MemoryFile::MemoryFile(size_t numBytes)
    : descriptor_(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING)), numBytes_(numBytes) {
  bool made = there() && ftruncate(descriptor_, static_cast<off_t>(numBytes)) == 0 &&
              fcntl(descriptor_, F_ADD_SEALS, kSeals) == 0;
  if (!made) *this = {};
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), numBytes_(std::exchange(other.numBytes_, 0)) {}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(numBytes_, other.numBytes_);
  return *this;
}

MemoryFile::~MemoryFile() {
  if (there()) close(descriptor_);
}

MemoryFile MemoryFile::of(int64_t process, int descriptor, size_t numBytes) {
  std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  std::string wanted = std::string("/memfd:") + kName + " ", target(wanted.size(), '\0');  // "(deleted)" follows
  MemoryFile file;
  if (readlink(path.c_str(), target.data(), target.size()) < 0 || target != wanted) return file;
  file.descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  file.numBytes_ = numBytes;
  bool right = file.there() && fcntl(file.descriptor_, F_GET_SEALS) == kSeals && hasSize(file.descriptor_, numBytes);
  return right ? std::move(file) : MemoryFile();
}

MappedPages::MappedPages(const MemoryFile& file, size_t first, size_t numBytes, bool writes) : numBytes_(numBytes) {
  void* data = mmap(nullptr, numBytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.descriptor(),
                    static_cast<off_t>(first));
  if (data != MAP_FAILED) data_ = static_cast<std::byte*>(data);
}

MappedPages::MappedPages(MappedPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), numBytes_(std::exchange(other.numBytes_, 0)) {}

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(numBytes_, other.numBytes_);
  return *this;
}

MappedPages::~MappedPages() {
  if (data_ != nullptr) munmap(data_, numBytes_);
}

}  // namespace bloomery
