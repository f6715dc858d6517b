// Keeps SIGPIPE from the calling thread: TLS writes to sockets whose peer may be gone, and a process that does not
// ignore the signal would die of it. The write still fails with an error of its own.
#pragma once

#include <csignal>
#include <ctime>

namespace bloomery::comm {

class BrokenPipeGuard {
 public:
  BrokenPipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    wasPending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  // Takes a signal that came meanwhile, lest it be delivered now.
  ~BrokenPipeGuard() {
    timespec none = {};
    if (!wasPending_) sigtimedwait(&pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipeGuard(const BrokenPipeGuard&) = delete;
  BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool wasPending_;
};

}  // namespace bloomery::comm
