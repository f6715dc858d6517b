#include "base/crypto/Secret.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/Error.h"
#include "base/crypto/OpenSsl.h"

namespace bloomery {

Secret Secret::random() { return Secret(unpredictableBytes()); }

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Secret::Bytes Secret::digest(std::string_view text) const {
  initOpenSsl();
  Bytes digest;
  unsigned int length = 0;
  bool good = HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                   reinterpret_cast<unsigned char*>(digest.data()), &length) != nullptr;
  check(good && length == digest.size(), "SHA-256 failed: ", takeOpenSslError());
  return digest;
}

std::string Secret::hexadecimal() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::byte byte : bytes_) {
    text += kDigits[std::to_integer<int>(byte >> 4)];
    text += kDigits[std::to_integer<int>(byte & std::byte(15))];
  }
  return text;
}

Secret::Bytes unpredictableBytes() {
  initOpenSsl();
  Secret::Bytes bytes;
  int result = RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  check(result == 1, "The system gives no random bytes: ", takeOpenSslError());
  return bytes;
}

bool sameBytes(const Secret::Bytes& a, const Secret::Bytes& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace bloomery
