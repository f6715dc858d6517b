// Makes certificates that live for one occasion: a key of its own that is never written down signs them, and goes with
// this object. Keys are of the curve P-256. Everything is text in PEM.
#pragma once

#include <memory>
#include <string>

namespace bloomery {

// What one party shows (certificate), proves with (key), and asks of the others (that this authority signed).
struct TlsCredentials {
  std::string authority;
  std::string certificate;
  std::string key;
};

class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& name);
  ~CertificateAuthority();

  // For the party of this name, with a new key.
  TlsCredentials issue(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery
