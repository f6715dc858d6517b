#include "jni/Guard.h"

#include <array>
#include <new>
#include <string>

#include "base/Error.h"
#include "jni/AttachedThread.h"
#include "jni/Text.h"

namespace bloomery::jni {

namespace {

struct ExceptionClass {
  jclass type = nullptr;
  jmethodID constructor = nullptr;
};

// Cached ids, by ErrorKind.
std::array<ExceptionClass, 5> exceptionClasses;
constexpr std::array<const char*, 5> kClassNames = {"io/bloomery/UserError", "io/bloomery/PeerLost",
                                                    "io/bloomery/Cancelled", "io/bloomery/ResourceError",
                                                    "io/bloomery/InternalError"};

void raise(JNIEnv* env, ErrorKind kind, const std::string& text) {
  const ExceptionClass& type = exceptionClasses[static_cast<size_t>(kind)];
  jstring message = toJava(env, text);
  if (message == nullptr) return;  // OutOfMemoryError is pending
  jobject exception = env->NewObject(type.type, type.constructor, message);
  if (exception != nullptr) env->Throw(static_cast<jthrowable>(exception));
}

}  // namespace

JavaException::JavaException(JNIEnv* env) {
  jthrowable pending = env->ExceptionOccurred();
  env->ExceptionClear();
  exception_ = std::shared_ptr<_jobject>(env->NewGlobalRef(pending), [](jobject held) {
    AttachedThread thread;
    if (thread.env() != nullptr) thread.env()->DeleteGlobalRef(held);
  });
  env->DeleteLocalRef(pending);
}

void JavaException::raise(JNIEnv* env) const { env->Throw(static_cast<jthrowable>(exception_.get())); }

bool loadExceptionClasses(JNIEnv* env) {
  for (size_t i = 0; i < kClassNames.size(); ++i) {
    jclass local = env->FindClass(kClassNames[i]);
    if (local == nullptr) return false;
    exceptionClasses[i].type = static_cast<jclass>(env->NewGlobalRef(local));
    exceptionClasses[i].constructor = env->GetMethodID(local, "<init>", "(Ljava/lang/String;)V");
    env->DeleteLocalRef(local);
    if (exceptionClasses[i].constructor == nullptr) return false;
  }
  return true;
}

void unloadExceptionClasses(JNIEnv* env) {
  for (ExceptionClass& entry : exceptionClasses) {
    if (entry.type != nullptr) env->DeleteGlobalRef(entry.type);
    entry = {};
  }
}

void throwJava(JNIEnv* env) {
  try {
    throw;
  } catch (const JavaExceptionPending&) {
  } catch (const JavaException& exception) {
    exception.raise(env);
  } catch (const Error& error) {
    raise(env, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    raise(env, ErrorKind::kResource, "Out of memory in the native engine");
  } catch (const std::exception& error) {
    raise(env, ErrorKind::kInternal, message("Fault in the native engine: ", error.what()));
  } catch (...) {
    raise(env, ErrorKind::kInternal, "Fault in the native engine: unknown exception");
  }
}

}  // namespace bloomery::jni
