// The one port at which the peers of a rank find it, from when the rank is made till all have come. IPv4 or IPv6, as
// its host has it.
#pragma once

#include <string>

#include "comm/tcp/Socket.h"

namespace bloomery::comm {

class Listener {
 public:
  // host: a name or address of this machine; a UserError says why it cannot be listened on.
  explicit Listener(const std::string& host);

  const SocketAddress& address() const { return address_; }
  int descriptor() const { return socket_.descriptor(); }
  // Whoever waits to be let in; an empty socket when nobody does. Sockets do not block.
  Socket accept();
  bool open() const { return socket_.open(); }
  void close() { socket_.close(); }

 private:
  Socket socket_;
  SocketAddress address_;
};

}  // namespace bloomery::comm
