// Ctrl-C and SIGTERM as something to ask for, instead of something that happens: blocked for this thread and all that
// it starts from now on. The second one ends the process as usual. Make it first in main.
#pragma once

#include <csignal>

namespace bloomery::tools {

class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The signal that came since it was made, or 0.
  int signal();

 private:
  sigset_t signals_;
  int signal_ = 0;
};

}  // namespace bloomery::tools
