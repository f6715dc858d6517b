// AES-256 in counter mode: turns any piece of a long text by itself, and back by the same call. It hides, it does not
// prove that nobody changed the text. One thread uses a cipher at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace bloomery {

using CipherKey = std::array<std::byte, 32>;

// From 64 hexadecimal digits; `what` names them in the UserError when they are not.
CipherKey readCipherKey(const std::string& hexadecimal, const char* what);

class Cipher {
 public:
  explicit Cipher(const CipherKey& key);
  ~Cipher();

  // Texts of one key need different numbers: the same number and offset twice would show what differs.
  void apply(uint64_t number, uint64_t offset, std::span<const std::byte> from, std::byte* to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery
