#include "tools/Files.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/Error.h"

namespace bloomery::tools {

namespace {

namespace fs = std::filesystem;

UserError cannotWrite(const std::string& path) { return UserError(message("Cannot write file: ", path)); }

std::string partOf(const std::string& path) { return path + ".part"; }

}  // namespace

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (fs::is_directory(path) || !file || !(text << file.rdbuf() || file.peek() == EOF)) {
    throw UserError(message("Cannot read file: ", path));
  }
  return text.str();
}

void writeFile(const std::string& path, const std::string& content) {
  {
    std::ofstream file(partOf(path), std::ios::binary);
    file << content;
    if (!file.flush()) throw cannotWrite(path);
  }
  std::error_code error;
  fs::rename(partOf(path), path, error);
  if (error) throw cannotWrite(path);
}

void checkWritable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) || !std::ofstream(partOf(path), std::ios::binary)) throw cannotWrite(path);
  fs::remove(partOf(path), error);
}

}  // namespace bloomery::tools
