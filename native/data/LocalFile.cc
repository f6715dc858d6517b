#include "data/LocalFile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/Error.h"

namespace bloomery::data {

LocalFile::LocalFile(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    if (descriptor_ >= 0) close(descriptor_);
    throw UserError(message("Cannot read file: ", path_));
  }
  size_ = status.st_size;
}

LocalFile::~LocalFile() { close(descriptor_); }

void LocalFile::read(int64_t position, std::span<std::byte> into) {
  while (!into.empty()) {
    ssize_t count = pread(descriptor_, into.data(), into.size(), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw UserError(message("Cannot read file: ", path_, ": ", std::generic_category().message(errno)));
    }
    if (count == 0) throw UserError(message("File became shorter while it was read: ", path_));
    position += count;
    into = into.subspan(static_cast<size_t>(count));
  }
}

}  // namespace bloomery::data
