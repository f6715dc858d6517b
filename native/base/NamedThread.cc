#include "base/NamedThread.h"

#include <filesystem>
#include <fstream>

namespace bloomery {

int countNamedThreads() {
  int count = 0;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with("bloomery-")) ++count;
  }
  return count;
}

}  // namespace bloomery
