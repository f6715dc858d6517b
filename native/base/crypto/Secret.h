// 32 random bytes that a few share, and what is proven with them: whoever makes the right digest of a text knows the
// secret. The bytes are erased when their owner goes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bloomery {

class Secret {
 public:
  static constexpr size_t kBytes = 32;
  using Bytes = std::array<std::byte, kBytes>;

  static Secret random();
  explicit Secret(const Bytes& bytes) : bytes_(bytes) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  // HMAC-SHA-256.
  Bytes digest(std::string_view text) const;
  std::string hexadecimal() const;

 private:
  Bytes bytes_;
};

// For what must not repeat, such as nonces; nobody can guess it.
Secret::Bytes unpredictableBytes();

// In a time that does not tell where they differ.
bool sameBytes(const Secret::Bytes& a, const Secret::Bytes& b);

}  // namespace bloomery
