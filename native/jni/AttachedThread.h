// The JVM for a thread of ours, for as long as this lives: attached as a daemon, which never keeps a JVM from ending,
// unless the thread is one of the JVM's already.
#pragma once

#include <jni.h>

namespace bloomery::jni {

// Once, when the library is loaded.
void rememberJavaVm(JavaVM* vm);

class AttachedThread {
 public:
  AttachedThread();
  ~AttachedThread();
  AttachedThread(const AttachedThread&) = delete;
  AttachedThread& operator=(const AttachedThread&) = delete;

  JNIEnv* env() const { return env_; }  // nullptr when the JVM refuses, as it does when it is ending

 private:
  JNIEnv* env_ = nullptr;
  bool attached_ = false;
};

}  // namespace bloomery::jni
