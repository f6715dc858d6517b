#include "jni/JavaSource.h"

#include <algorithm>
#include <utility>

#include "base/Error.h"
#include "jni/AttachedThread.h"
#include "jni/Guard.h"

namespace bloomery::jni {

namespace {

// Cached ids of io.bloomery.jni.ByteSource; the class is held so that they stay valid.
struct SourceClass {
  jclass type = nullptr;
  jmethodID read = nullptr;
  jmethodID cancel = nullptr;
  jmethodID isLocal = nullptr;
};
SourceClass sourceClass;

// A Java buffer has an int for its size; smaller ones also let a cancelled read end sooner.
constexpr size_t kMaxReadBytes = 64 << 20;

}  // namespace

bool loadSourceClass(JNIEnv* env) {
  jclass local = env->FindClass("io/bloomery/jni/ByteSource");
  if (local == nullptr) return false;
  sourceClass.type = static_cast<jclass>(env->NewGlobalRef(local));
  env->DeleteLocalRef(local);
  sourceClass.read = env->GetMethodID(sourceClass.type, "read", "(JLjava/nio/ByteBuffer;)V");
  if (sourceClass.read == nullptr) return false;
  sourceClass.cancel = env->GetMethodID(sourceClass.type, "cancel", "()V");
  if (sourceClass.cancel == nullptr) return false;
  sourceClass.isLocal = env->GetMethodID(sourceClass.type, "isLocal", "()Z");
  return sourceClass.isLocal != nullptr;
}

void unloadSourceClass(JNIEnv* env) {
  if (sourceClass.type != nullptr) env->DeleteGlobalRef(sourceClass.type);
  sourceClass = {};
}

JavaSource::JavaSource(JNIEnv* env, jobject source, std::string name, int64_t size)
    : source_(env->NewGlobalRef(source)), name_(std::move(name)), size_(size) {
  check(source_ != nullptr && size_ >= 0, "No source of bytes: ", name_);
  isLocal_ = env->CallBooleanMethod(source_, sourceClass.isLocal) == JNI_TRUE;
  if (env->ExceptionCheck()) throw JavaException(env);
}

JavaSource::~JavaSource() {
  AttachedThread thread;
  if (thread.env() != nullptr) thread.env()->DeleteGlobalRef(source_);
}

void JavaSource::read(int64_t position, std::span<std::byte> into) {
  AttachedThread thread;
  JNIEnv* env = thread.env();
  if (env == nullptr) throw ResourceError(message("The JVM takes no thread to read with, file ", name_));
  while (!into.empty()) {
    size_t count = std::min(into.size(), kMaxReadBytes);
    jobject buffer = env->NewDirectByteBuffer(into.data(), static_cast<jlong>(count));
    if (buffer != nullptr) env->CallVoidMethod(source_, sourceClass.read, static_cast<jlong>(position), buffer);
    if (env->ExceptionCheck()) throw JavaException(env);
    check(buffer != nullptr, "The JVM makes no direct buffers");
    env->DeleteLocalRef(buffer);
    position += static_cast<int64_t>(count);
    into = into.subspan(count);
  }
}

std::shared_ptr<void> JavaSource::prepareThread() { return std::make_shared<AttachedThread>(); }

void JavaSource::cancel() {
  AttachedThread thread;
  if (thread.env() == nullptr) return;
  thread.env()->CallVoidMethod(source_, sourceClass.cancel);
  if (thread.env()->ExceptionCheck()) thread.env()->ExceptionClear();  // what is cancelled is not waited for
}

}  // namespace bloomery::jni
