#include "tools/Interruption.h"

#include <algorithm>
#include <ctime>

namespace bloomery::tools {

Interruption::Interruption() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int Interruption::signal() {
  if (signal_ != 0) return signal_;
  timespec noTime = {};
  signal_ = std::max(sigtimedwait(&signals_, nullptr, &noTime), 0);
  if (signal_ != 0) pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  return signal_;
}

}  // namespace bloomery::tools
