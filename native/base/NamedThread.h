// Every thread of ours carries a name that starts with "bloomery-" (at most 15 characters in all), so that a user who
// looks at a process, and a test that counts threads, can tell them from the host's.
#pragma once

#include <pthread.h>

#include <string>
#include <thread>
#include <utility>

namespace bloomery {

// Threads that this one starts, such as an OpenMP team, inherit the name.
template <typename Body>
std::thread namedThread(const char* name, Body body) {
  return std::thread([name, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name);
    body();
  });
}

// Threads of this process that carry such a name now.
int countNamedThreads();

}  // namespace bloomery
