#include "comm/tcp/Socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/Error.h"

namespace bloomery::comm {

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.release();
  }
  return *this;
}

void Socket::close() {
  if (open()) ::close(release());
}

SocketAddress SocketAddress::ofOwnEnd(const Socket& socket) {
  SocketAddress address;
  socklen_t length = sizeof(address.storage);
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address.storage), &length);
  return address;
}

SocketAddress SocketAddress::ofOtherEnd(const Socket& socket) {
  SocketAddress address;
  socklen_t length = sizeof(address.storage);
  getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&address.storage), &length);
  return address;
}

socklen_t SocketAddress::length() const {
  return storage.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string SocketAddress::text() const {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  int result = getnameinfo(get(), length(), host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  if (result != 0) return "unknown";
  return storage.ss_family == AF_INET6 ? message("[", host, "]:", port) : message(host, ":", port);
}

}  // namespace bloomery::comm
