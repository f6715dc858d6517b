// A ByteSource whose bytes a Java object gives (io.bloomery.jni.ByteSource), such as a stream of one of Hadoop's file
// systems. Threads of the engine are attached to the JVM for the length of a read, or, as daemons, for as long as they
// want to read, so that many small reads need not each be attached anew. What Java throws travels on as JavaException.
#pragma once

#include <jni.h>

#include <string>

#include "data/ByteSource.h"

namespace bloomery::jni {

// Looks the class up once, when the library is loaded; false when it is missing.
bool loadSourceClass(JNIEnv* env);
void unloadSourceClass(JNIEnv* env);

class JavaSource : public data::ByteSource {
 public:
  JavaSource(JNIEnv* env, jobject source, std::string name, int64_t size);
  ~JavaSource() override;
  JavaSource(const JavaSource&) = delete;
  JavaSource& operator=(const JavaSource&) = delete;

  const std::string& name() const override { return name_; }
  int64_t size() const override { return size_; }
  bool isLocal() const override { return isLocal_; }
  void read(int64_t position, std::span<std::byte> into) override;
  std::shared_ptr<void> prepareThread() override;
  void cancel() override;

 private:
  jobject source_;  // a global reference
  std::string name_;
  int64_t size_;
  bool isLocal_ = false;
};

}  // namespace bloomery::jni
