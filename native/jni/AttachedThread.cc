#include "jni/AttachedThread.h"

namespace bloomery::jni {

namespace {

JavaVM* javaVm = nullptr;

char threadName[] = "bloomery-scan";

}  // namespace

void rememberJavaVm(JavaVM* vm) { javaVm = vm; }

AttachedThread::AttachedThread() {
  if (javaVm->GetEnv(reinterpret_cast<void**>(&env_), JNI_VERSION_1_8) == JNI_OK) return;
  JavaVMAttachArgs arguments{JNI_VERSION_1_8, threadName, nullptr};
  attached_ = javaVm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env_), &arguments) == JNI_OK;
  if (!attached_) env_ = nullptr;
}

AttachedThread::~AttachedThread() {
  if (attached_) javaVm->DetachCurrentThread();
}

}  // namespace bloomery::jni
