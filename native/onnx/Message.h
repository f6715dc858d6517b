// A message in the wire format of protocol buffers, as far as ONNX needs it: numbers, texts, bytes and messages inside.
// Written once, front to back; nothing is read here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bloomery::onnx {

class Message {
 public:
  void addNumber(int field, int64_t value);
  void addFloat(int field, float value);
  void addBytes(int field, std::string_view bytes);
  void addMessage(int field, const Message& message) { addBytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void addVarint(uint64_t value);
  void addKey(int field, int wireType) {
    addVarint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wireType));
  }

  std::string bytes_;
};

}  // namespace bloomery::onnx
