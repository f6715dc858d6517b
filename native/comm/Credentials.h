// What a rank needs in order to prove to each of its peers who it is: a secret with every one of them, and for
// encryption a certificate. Whoever starts the ranks issues them, for one attempt at one training, and hands each rank
// its own over a channel that it trusts; the ranks only read them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/crypto/CertificateAuthority.h"
#include "base/crypto/Secret.h"

namespace bloomery::comm {

struct Credentials {
  int attempt = 0;
  int rank = 0;
  int size = 1;
  std::vector<Secret> secrets;        // by peer; that of this rank itself is nobody's
  std::optional<TlsCredentials> tls;  // nothing: connections are authenticated, but not encrypted

  // InternalError, which quotes nothing, when the text is not of this rank.
  static Credentials read(const std::string& text, int rank, int size);
  // What the certificate of a peer has to say.
  std::string nameOf(int peer) const;
};

// By rank, to be handed out as opaque texts.
std::vector<std::string> issueCredentials(int size, int attempt, bool encrypt);

}  // namespace bloomery::comm
