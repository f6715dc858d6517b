#include "base/crypto/CertificateAuthority.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstring>

#include "base/Error.h"
#include "base/crypto/OpenSsl.h"
#include "base/crypto/Secret.h"

namespace bloomery {

namespace {

// Clocks of a cluster differ; certificates are looked at within minutes after they were made.
constexpr long kSecondsPerDay = 86400;
constexpr long kFirstDay = -1;
constexpr long kLastDay = 2;

void require(bool good, const char* what) {
  check(good, "Cannot make a certificate: ", what, ": ", takeOpenSslError());
}

OwnedKey makeKey() {
  OwnedKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  require(key != nullptr, "key");
  return key;
}

void addExtension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  OpenSslOwner<X509_EXTENSION, X509_EXTENSION_free> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, value);
}

void setSerialNumber(X509* certificate) {
  auto random = unpredictableBytes();
  uint64_t number;
  std::memcpy(&number, random.data(), sizeof(number));
  require(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1) == 1, "serial number");
}

// Without a signature.
OwnedCertificate makeCertificate(const std::string& name, EVP_PKEY* key) {
  OwnedCertificate certificate(X509_new());
  require(certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1, "version");
  setSerialNumber(certificate.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  auto text = reinterpret_cast<const unsigned char*>(name.data());
  require(X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, text, static_cast<int>(name.size()), -1,
                                     0) == 1,
          "name");
  require(X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kFirstDay * kSecondsPerDay) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kLastDay * kSecondsPerDay) != nullptr,
          "dates");
  require(X509_set_pubkey(certificate.get(), key) == 1, "public key");
  return certificate;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* issuerKey) {
  require(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1, "issuer");
  require(X509_sign(certificate, issuerKey, EVP_sha256()) > 0, "signature");
}

std::string textOf(BIO* bio) {
  char* data = nullptr;
  long length = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(length)};
}

std::string toText(X509* certificate) {
  OwnedBio bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(bio.get(), certificate) == 1, "text");
  return textOf(bio.get());
}

std::string toText(EVP_PKEY* key) {
  OwnedBio bio(BIO_new(BIO_s_secmem()));
  require(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "text of the key");
  return textOf(bio.get());
}

}  // namespace

struct CertificateAuthority::State {
  OwnedKey key;
  OwnedCertificate certificate;
};

CertificateAuthority::CertificateAuthority(const std::string& name) {
  initOpenSsl();
  OwnedKey key = makeKey();
  OwnedCertificate certificate = makeCertificate(name, key.get());
  addExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  addExtension(certificate.get(), NID_key_usage, "critical,keyCertSign");
  sign(certificate.get(), certificate.get(), key.get());
  state_ = std::make_unique<State>(State{std::move(key), std::move(certificate)});
}

CertificateAuthority::~CertificateAuthority() = default;

TlsCredentials CertificateAuthority::issue(const std::string& name) const {
  OwnedKey key = makeKey();
  OwnedCertificate certificate = makeCertificate(name, key.get());
  addExtension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  addExtension(certificate.get(), NID_key_usage, "critical,digitalSignature");
  sign(certificate.get(), state_->certificate.get(), state_->key.get());
  return {toText(state_->certificate.get()), toText(certificate.get()), toText(key.get())};
}

}  // namespace bloomery
