#include "onnx/Message.h"

#include <cstring>

namespace bloomery::onnx {

namespace {

enum WireType { kVarint = 0, kLengthDelimited = 2, kFourBytes = 5 };

}  // namespace

void Message::addVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
  bytes_ += static_cast<char>(value);
}

void Message::addNumber(int field, int64_t value) {
  addKey(field, kVarint);
  addVarint(static_cast<uint64_t>(value));
}

void Message::addFloat(int field, float value) {
  addKey(field, kFourBytes);
  char bytes[sizeof(float)];
  std::memcpy(bytes, &value, sizeof(float));
  bytes_.append(bytes, sizeof(float));
}

void Message::addBytes(int field, std::string_view bytes) {
  addKey(field, kLengthDelimited);
  addVarint(bytes.size());
  bytes_.append(bytes);
}

}  // namespace bloomery::onnx
