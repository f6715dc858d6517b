#include "tools/CheckpointFile.h"

#include <charconv>

#include "base/Error.h"
#include "tools/Files.h"

namespace bloomery::tools {

void writeCheckpoint(const std::string& path, const train::Snapshot& snapshot) {
  writeFile(path, message(snapshot.own.size(), "\n", snapshot.own, snapshot.shared));
}

train::SavedState readCheckpoint(const std::string& path) {
  std::string bytes = readFile(path);
  size_t ownBytes = 0, line = bytes.find('\n');
  auto [end, error] = std::from_chars(bytes.data(), bytes.data() + std::min(line, bytes.size()), ownBytes);
  if (line == std::string::npos || error != std::errc() || end != bytes.data() + line ||
      ownBytes > bytes.size() - line - 1) {
    throw UserError(message("Not a checkpoint: ", path));
  }
  return {bytes.substr(line + 1 + ownBytes), bytes.substr(line + 1, ownBytes)};
}

}  // namespace bloomery::tools
