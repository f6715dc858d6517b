// A descriptor that closes itself, and where a socket is reached.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>

namespace bloomery::comm {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  int release() { return std::exchange(descriptor_, -1); }
  void close();

 private:
  int descriptor_ = -1;
};

struct SocketAddress {
  sockaddr_storage storage = {};

  static SocketAddress ofOwnEnd(const Socket& socket);
  static SocketAddress ofOtherEnd(const Socket& socket);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  socklen_t length() const;
  // "127.0.0.1:4711", "[::1]:4711"
  std::string text() const;
};

}  // namespace bloomery::comm
