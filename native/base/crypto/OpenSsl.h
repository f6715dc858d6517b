// What the files of this folder share in using OpenSSL: its set-up, the texts of its errors and the owners of its
// objects. Not for others: no OpenSSL type leaves the folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace bloomery {

// To be called before anything else of it. A library inside somebody else's process reads no configuration file and
// leaves nothing to do at exit.
void initOpenSsl();

// The newest error of this thread, which is forgotten with the older ones.
std::string takeOpenSslError();

template <auto release>
struct OpenSslRelease {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};

template <typename T, auto release>
using OpenSslOwner = std::unique_ptr<T, OpenSslRelease<release>>;

using OwnedBio = OpenSslOwner<BIO, BIO_free_all>;
using OwnedKey = OpenSslOwner<EVP_PKEY, EVP_PKEY_free>;
using OwnedCertificate = OpenSslOwner<X509, X509_free>;

OwnedCertificate readCertificate(const std::string& pem);
OwnedKey readKey(const std::string& pem);

}  // namespace bloomery
