// The library is linked so that every wait on a condition variable comes here (--wrap). The function of libstdc++
// itself would do the same, but since GCC 12 under a version of its symbol that Ubuntu 22.04 has and Red Hat 9 has not.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* condition,
                                                                                 std::unique_lock<std::mutex>* lock) {
  pthread_cond_wait(condition->native_handle(), lock->mutex()->native_handle());
}
