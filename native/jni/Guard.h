// The one way in: whatever an entry throws becomes a Java exception of the five kinds; nothing else ever crosses.
#pragma once

#include <jni.h>

#include <exception>
#include <memory>
#include <type_traits>

namespace bloomery::jni {

// Thrown when a JNI call has raised a Java exception already, which is then left to travel on.
class JavaExceptionPending : public std::exception {};

// A Java exception that was met on another thread, or that has to travel through code of others first.
class JavaException : public std::exception {
 public:
  // Takes the pending exception away from this thread.
  explicit JavaException(JNIEnv* env);
  const char* what() const noexcept override { return "Java exception"; }
  void raise(JNIEnv* env) const;

 private:
  std::shared_ptr<_jobject> exception_;  // a global reference; copies of a C++ exception share it
};

// Looks the exception classes up once, when the library is loaded; false when one is missing.
bool loadExceptionClasses(JNIEnv* env);
void unloadExceptionClasses(JNIEnv* env);

// To be called inside a catch block.
void throwJava(JNIEnv* env);

template <typename Body>
auto guard(JNIEnv* env, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    throwJava(env);
  }
  if constexpr (!std::is_void_v<decltype(body())>) return {};
}

}  // namespace bloomery::jni
