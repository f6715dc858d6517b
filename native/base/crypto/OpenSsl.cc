#include "base/crypto/OpenSsl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/Error.h"

namespace bloomery {

namespace {

OwnedBio bioOf(const std::string& text) {
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

void initOpenSsl() { OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr); }

std::string takeOpenSslError() {
  unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown" : reason;
}

OwnedCertificate readCertificate(const std::string& pem) {
  OwnedBio bio = bioOf(pem);
  OwnedCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  check(certificate != nullptr, "Not a certificate: ", takeOpenSslError());
  return certificate;
}

OwnedKey readKey(const std::string& pem) {
  OwnedBio bio = bioOf(pem);
  OwnedKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  check(key != nullptr, "Not a private key: ", takeOpenSslError());
  return key;
}

}  // namespace bloomery
