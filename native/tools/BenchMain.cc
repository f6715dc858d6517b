#include "tools/BenchMain.h"

#include <cstring>
#include <exception>
#include <iostream>

namespace bloomery::tools {

int benchMain(int count, char** words, const char* usage, const std::function<void()>& run) {
  if (count == 2 && std::strcmp(words[1], "--help") == 0) {
    std::cout << usage;
    return 0;
  }
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace bloomery::tools
