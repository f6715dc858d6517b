// One connection from its first byte till it is known who is at the other end: TCP, TLS where it is asked for, then
// the handshake. Never blocks: whoever owns it polls the socket and calls `advance`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "comm/tcp/Connection.h"
#include "comm/tcp/Handshake.h"

namespace bloomery::comm {

// The other end did not say why.
class HungUp : public Refused {
 public:
  using Refused::Refused;
};

// The other end takes no connections: the peer that was there is gone, and trying again is in vain.
class NobodyThere : public std::runtime_error {
 public:
  NobodyThere(int peer, const std::string& reason) : std::runtime_error(reason), peer_(peer) {}
  int peer() const { return peer_; }

 private:
  int peer_;
};

class Greeting {
 public:
  using Clock = std::chrono::steady_clock;

  // To a peer. Both borrow the credentials and the identity, which is null without encryption.
  Greeting(const Credentials& credentials, const TlsIdentity* identity, int peer, const SocketAddress& address);
  // With whoever has come.
  Greeting(const Credentials& credentials, const TlsIdentity* identity, Socket socket);

  int descriptor() const { return connection_.socket.descriptor(); }
  short events() const { return events_; }  // to be polled for
  // Goes as far as it can; true once the peer has proven who it is. Refused when it does not, or NobodyThere.
  bool advance();

  bool accepts() const { return !target_; }
  int peer() const { return handshake_->peer(); }  // once known
  std::optional<int> target() const { return target_; }
  const std::string& otherEnd() const { return otherEnd_; }
  Clock::time_point begin() const { return begin_; }
  Connection take() { return std::move(connection_); }

 private:
  bool finishConnecting();
  bool encrypt();
  bool talk();
  bool send();
  bool receive();
  // True when bytes went or came, false when the socket has to be waited for.
  bool settle(const TlsSession::Result& result);

  const Credentials& credentials_;
  const TlsIdentity* identity_;
  std::optional<int> target_;
  Connection connection_;
  std::optional<Handshake> handshake_;
  bool connecting_ = false;
  bool encrypted_ = false;
  short events_ = 0;
  std::string sending_;
  std::string heard_;
  std::string otherEnd_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace bloomery::comm
