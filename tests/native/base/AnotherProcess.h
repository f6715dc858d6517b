// A part of a test in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace bloomery {

// Whether body() returned true there.
template <typename Body>
bool inAnotherProcess(Body body) {
  pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace bloomery
