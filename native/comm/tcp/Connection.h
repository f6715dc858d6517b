// A connection with a peer that has proven who it is.
#pragma once

#include <memory>

#include "base/crypto/TlsSession.h"
#include "comm/tcp/Socket.h"

namespace bloomery::comm {

struct Connection {
  Socket socket;
  std::unique_ptr<TlsSession> tls;  // nothing: not encrypted
};

}  // namespace bloomery::comm
