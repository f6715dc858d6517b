// Stands between a rank and the one that it connects to, as somebody on the network could: passes all bytes on and
// keeps a copy, or puts bytes of its own into a connection.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/tcp/Listener.h"

namespace bloomery::comm {

// An address as GlooConnector tells it ends with the socket's own.
inline SocketAddress socketAddressOf(const std::string& address) {
  SocketAddress result;
  std::memcpy(&result.storage, address.data() + address.size() - sizeof(result.storage), sizeof(result.storage));
  return result;
}

inline std::string withSocketAddress(std::string address, const SocketAddress& other) {
  std::memcpy(address.data() + address.size() - sizeof(other.storage), &other.storage, sizeof(other.storage));
  return address;
}

inline Socket connectTo(const SocketAddress& address) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM, 0));
  if (::connect(socket.descriptor(), address.get(), address.length()) != 0) socket.close();
  return socket;
}

inline void sendAll(const Socket& socket, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    ssize_t now = send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;
    sent += static_cast<size_t>(now);
  }
}

class Relay {
 public:
  explicit Relay(const SocketAddress& target) : target_(target), listener_("127.0.0.1") {
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    stop_ = true;
    thread_.join();
  }

  const SocketAddress& address() const { return listener_.address(); }
  // Puts these bytes into what the connecting side sends, as if it had sent them.
  void inject(const std::string& bytes) {
    std::lock_guard lock(mutex_);
    injected_ = bytes;
  }
  std::string sentByConnecting() const {
    std::lock_guard lock(mutex_);
    return sentByConnecting_;
  }
  std::string sentByAccepting() const {
    std::lock_guard lock(mutex_);
    return sentByAccepting_;
  }

 private:
  struct Pipe {
    Socket connecting, accepting;
    bool open = true;
  };

  void run() {
    std::list<Pipe> pipes;
    while (!stop_) {
      if (Socket socket = listener_.accept(); socket.open()) pipes.push_back({std::move(socket), connectTo(target_)});
      std::vector<pollfd> sockets = {{listener_.descriptor(), POLLIN, 0}};
      for (Pipe& pipe : pipes) {
        sockets.push_back({pipe.connecting.descriptor(), POLLIN, 0});
        sockets.push_back({pipe.accepting.descriptor(), POLLIN, 0});
      }
      poll(sockets.data(), sockets.size(), 5);
      for (Pipe& pipe : pipes) {
        pass(pipe, pipe.connecting, pipe.accepting, sentByConnecting_);
        pass(pipe, pipe.accepting, pipe.connecting, sentByAccepting_);
      }
      pipes.remove_if([](const Pipe& pipe) { return !pipe.open; });
    }
  }

  void pass(Pipe& pipe, const Socket& from, const Socket& to, std::string& copy) {
    char bytes[65536];
    ssize_t count = recv(from.descriptor(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN)) pipe.open = false;
    std::lock_guard lock(mutex_);
    if (!injected_.empty() && &copy == &sentByConnecting_) send(to, std::exchange(injected_, {}));
    if (count <= 0) return;
    copy.append(bytes, static_cast<size_t>(count));
    send(to, std::string(bytes, static_cast<size_t>(count)));
  }

  static void send(const Socket& to, const std::string& bytes) {
    // A socket that does not block may take less than all.
    size_t sent = 0;
    while (sent < bytes.size()) {
      ssize_t now = ::send(to.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0 && errno != EAGAIN) return;
      if (now > 0) sent += static_cast<size_t>(now);
    }
  }

  const SocketAddress target_;
  Listener listener_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::string injected_;
  std::string sentByConnecting_;
  std::string sentByAccepting_;
  std::thread thread_;
};

}  // namespace bloomery::comm
