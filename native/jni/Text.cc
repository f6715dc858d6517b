#include "jni/Text.h"

#include <vector>

#include "base/Error.h"
#include "jni/Guard.h"

namespace bloomery::jni {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

void appendUtf8(std::string& out, char32_t c) {
  auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12));
    } else {
      put(0xF0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3F));
    }
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// Decodes one character and moves on; anything malformed becomes the replacement character.
char32_t nextCharacter(const std::string& text, size_t& at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (more == 0) return kReplacement;
  char32_t c = lead & (0x3F >> more);
  for (; more > 0; --more, ++at) {
    if (at >= text.size() || (byte(at) & 0xC0) != 0x80) return kReplacement;
    c = (c << 6) | (byte(at) & 0x3F);
  }
  return c > 0x10FFFF ? kReplacement : c;
}

}  // namespace

std::string toUtf8(JNIEnv* env, jstring text) {
  check(text != nullptr, "A text is null");
  jsize length = env->GetStringLength(text);
  std::vector<jchar> units(static_cast<size_t>(length));
  env->GetStringRegion(text, 0, length, units.data());
  std::string out;
  out.reserve(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    char32_t c = units[i];
    bool high = c >= 0xD800 && c < 0xDC00, low = c >= 0xDC00 && c < 0xE000;
    if (high && i + 1 < units.size() && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000) {
      c = 0x10000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00u);
    } else if (high || low) {
      c = kReplacement;
    }
    appendUtf8(out, c);
  }
  return out;
}

jstring toJava(JNIEnv* env, const std::string& utf8) {
  std::vector<jchar> units;
  units.reserve(utf8.size());
  for (size_t at = 0; at < utf8.size();) {
    char32_t c = nextCharacter(utf8, at);
    if (c >= 0x10000) {
      units.push_back(static_cast<jchar>(0xD800 + ((c - 0x10000) >> 10)));
      units.push_back(static_cast<jchar>(0xDC00 + ((c - 0x10000) & 0x3FF)));
    } else {
      units.push_back(static_cast<jchar>(c));
    }
  }
  return env->NewString(units.data(), static_cast<jsize>(units.size()));
}

std::string toBytes(JNIEnv* env, jbyteArray bytes) {
  check(bytes != nullptr, "A byte array is null");
  std::string out(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(out.size()), reinterpret_cast<jbyte*>(out.data()));
  return out;
}

jbyteArray toJavaBytes(JNIEnv* env, const std::string& bytes) {
  if (bytes.size() > static_cast<size_t>(INT32_MAX)) {
    throw ResourceError(message("Too large for a Java array: ", bytes.size(), " bytes, at most ", INT32_MAX));
  }
  jbyteArray out = env->NewByteArray(static_cast<jsize>(bytes.size()));
  if (out == nullptr) throw JavaExceptionPending();
  env->SetByteArrayRegion(out, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<const jbyte*>(bytes.data()));
  return out;
}

jobjectArray toJavaByteArrays(JNIEnv* env, const std::vector<std::string>& arrays) {
  jclass bytes = env->FindClass("[B");
  if (bytes == nullptr) throw JavaExceptionPending();
  jobjectArray out = env->NewObjectArray(static_cast<jsize>(arrays.size()), bytes, nullptr);
  if (out == nullptr) throw JavaExceptionPending();
  for (size_t i = 0; i < arrays.size(); ++i) {
    jbyteArray element = toJavaBytes(env, arrays[i]);
    env->SetObjectArrayElement(out, static_cast<jsize>(i), element);
    env->DeleteLocalRef(element);
  }
  return out;
}

std::vector<int> toInts(JNIEnv* env, jintArray values) {
  check(values != nullptr, "An array of ints is null");
  std::vector<int> out(static_cast<size_t>(env->GetArrayLength(values)));
  env->GetIntArrayRegion(values, 0, static_cast<jsize>(out.size()), out.data());
  return out;
}

std::vector<double> toDoubles(JNIEnv* env, jdoubleArray values) {
  check(values != nullptr, "An array of doubles is null");
  std::vector<double> out(static_cast<size_t>(env->GetArrayLength(values)));
  env->GetDoubleArrayRegion(values, 0, static_cast<jsize>(out.size()), out.data());
  return out;
}

jdoubleArray toJavaDoubles(JNIEnv* env, const std::vector<double>& values) {
  jdoubleArray out = env->NewDoubleArray(static_cast<jsize>(values.size()));
  if (out == nullptr) throw JavaExceptionPending();
  env->SetDoubleArrayRegion(out, 0, static_cast<jsize>(values.size()), values.data());
  return out;
}

}  // namespace bloomery::jni
