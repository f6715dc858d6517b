// Texts and arrays across the boundary, as true UTF-8: JNI's own "modified UTF-8" would garble what lies beyond
// the basic plane.
#pragma once

#include <jni.h>

#include <string>
#include <vector>

namespace bloomery::jni {

std::string toUtf8(JNIEnv* env, jstring text);
jstring toJava(JNIEnv* env, const std::string& utf8);
std::string toBytes(JNIEnv* env, jbyteArray bytes);
jbyteArray toJavaBytes(JNIEnv* env, const std::string& bytes);
jobjectArray toJavaByteArrays(JNIEnv* env, const std::vector<std::string>& arrays);
std::vector<int> toInts(JNIEnv* env, jintArray values);
std::vector<double> toDoubles(JNIEnv* env, jdoubleArray values);
jdoubleArray toJavaDoubles(JNIEnv* env, const std::vector<double>& values);

}  // namespace bloomery::jni
