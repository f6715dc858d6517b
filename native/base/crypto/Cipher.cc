#include "base/crypto/Cipher.h"

#include <algorithm>

#include "base/Error.h"
#include "base/crypto/OpenSsl.h"

namespace bloomery {

namespace {

constexpr uint64_t kBlock = 16;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // OpenSSL counts in int

int digitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

void writeBigEndian(uint64_t value, unsigned char* to) {
  for (int i = 7; i >= 0; --i, value >>= 8) to[i] = static_cast<unsigned char>(value);
}

}  // namespace

CipherKey readCipherKey(const std::string& hexadecimal, const char* what) {
  CipherKey key{};
  bool valid = hexadecimal.size() == 2 * key.size();
  for (size_t i = 0; valid && i < key.size(); ++i) {
    int high = digitOf(hexadecimal[2 * i]), low = digitOf(hexadecimal[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    key[i] = static_cast<std::byte>(high * 16 + low);
  }
  // The key itself is not for messages.
  if (!valid) throw UserError(message("Not 64 hexadecimal digits: ", what));
  return key;
}

struct Cipher::State {
  EVP_CIPHER_CTX* context = nullptr;
  ~State() { EVP_CIPHER_CTX_free(context); }
};

Cipher::Cipher(const CipherKey& key) : state_(std::make_unique<State>()) {
  initOpenSsl();
  state_->context = EVP_CIPHER_CTX_new();
  const unsigned char noCounter[kBlock] = {};
  bool ready = state_->context != nullptr &&
               EVP_EncryptInit_ex(state_->context, EVP_aes_256_ctr(), nullptr,
                                  reinterpret_cast<const unsigned char*>(key.data()), noCounter) == 1;
  check(ready, "AES-256 cannot be set up");
}

Cipher::~Cipher() = default;

void Cipher::apply(uint64_t number, uint64_t offset, std::span<const std::byte> from, std::byte* to) {
  unsigned char counter[kBlock], skipped[kBlock] = {};
  writeBigEndian(number, counter);
  writeBigEndian(offset / kBlock, counter + 8);
  int written = 0;
  bool good = EVP_EncryptInit_ex(state_->context, nullptr, nullptr, nullptr, counter) == 1 &&
              EVP_EncryptUpdate(state_->context, skipped, &written, skipped, static_cast<int>(offset % kBlock)) == 1;
  for (size_t done = 0; good && done < from.size();) {
    size_t count = std::min(kMostAtOnce, from.size() - done);
    good = EVP_EncryptUpdate(state_->context, reinterpret_cast<unsigned char*>(to + done), &written,
                             reinterpret_cast<const unsigned char*>(from.data() + done), static_cast<int>(count)) == 1;
    done += count;
  }
  check(good, "AES-256 failed");
}

}  // namespace bloomery
