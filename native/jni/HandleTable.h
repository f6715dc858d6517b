// Objects that Java holds by number. Numbers are never used twice, so a stale one is an error and not a crash. `get`
// shares ownership for the length of a call: another thread may close the handle meanwhile.
#pragma once

#include <jni.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/Error.h"

namespace bloomery::jni {

template <typename T>
class HandleTable {
 public:
  explicit HandleTable(const char* what) : what_(what) {}

  jlong add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }

  std::shared_ptr<T> get(jlong handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    check(found != objects_.end(), "No such ", what_, ", or it was closed: handle ", handle);
    return found->second;
  }

  // Nothing happens when it was closed before. The object is destroyed outside the lock.
  void close(jlong handle) {
    std::shared_ptr<T> object;
    {
      std::lock_guard lock(mutex_);
      auto found = objects_.find(handle);
      if (found == objects_.end()) return;
      object = std::move(found->second);
      objects_.erase(found);
    }
  }

  size_t size() {
    std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  const char* what_;
  std::mutex mutex_;
  std::unordered_map<jlong, std::shared_ptr<T>> objects_;
  jlong last_ = 0;
};

}  // namespace bloomery::jni
