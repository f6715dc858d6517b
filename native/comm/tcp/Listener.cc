#include "comm/tcp/Listener.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

// Strangers take places in it, too.
constexpr int kMostWaiting = 1024;

}  // namespace

Listener::Listener(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int result = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (result != 0) {
    throw UserError(message("Host of this worker has no address: '", host, "': ", gai_strerror(result)));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  int reason = 0;
  for (addrinfo* one = found; one != nullptr && !socket_.open(); one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, one->ai_protocol));
    bool listens = socket.open() && bind(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 &&
                   listen(socket.descriptor(), kMostWaiting) == 0;
    if (listens) {
      socket_ = std::move(socket);
    } else {
      reason = errno;
    }
  }
  if (!socket_.open()) {
    throw UserError(message("Cannot listen on this worker's host: '", host, "': ", std::strerror(reason),
                            "; give a name or address of this machine"));
  }
  address_ = SocketAddress::ofOwnEnd(socket_);
}

Socket Listener::accept() {
  return Socket(accept4(socket_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace bloomery::comm
