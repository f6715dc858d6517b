// TLS 1.3 over a connected socket that does not block, in which each side has to show a certificate of the same
// authority. The socket stays with its owner. One thread uses a session at a time, and blocks SIGPIPE: a peer may be
// gone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/crypto/CertificateAuthority.h"

namespace bloomery {

// Who this process is in its sessions, which may outlive it. Keys are read from memory, never from a file.
class TlsIdentity {
 public:
  explicit TlsIdentity(const TlsCredentials& credentials);
  ~TlsIdentity();

 private:
  friend class TlsSession;
  struct State;
  std::unique_ptr<State> state_;
};

class TlsSession {
 public:
  enum class Role { kConnects, kAccepts };
  TlsSession(const TlsIdentity& identity, int socket, Role role);
  ~TlsSession();

  enum class Status {
    kDone,
    kWantsToRead,   // again once the socket can be read
    kWantsToWrite,  // again once it can be written, with the same bytes
    kClosed,        // by the other side
    kReset,         // the connection is gone
    kFailed,        // `reason` says why
  };
  struct Result {
    Status status;
    size_t bytes = 0;
  };
  // The other side is verified when this is done; it may not have verified us yet.
  Result handshake();
  // At least one byte when done.
  Result read(void* data, size_t bytes);
  Result write(const void* data, size_t bytes);

  const std::string& reason() const { return reason_; }
  // What the verified certificate of the other side says, after the handshake.
  std::string peerName() const;

 private:
  Result resultOf(int returned, size_t bytes);

  struct State;
  std::unique_ptr<State> state_;
  std::string reason_;
};

}  // namespace bloomery
