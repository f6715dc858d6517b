#include "comm/tcp/Greeting.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

using Status = TlsSession::Status;

TlsSession::Result plainResult(ssize_t done) {
  if (done > 0) return {Status::kDone, static_cast<size_t>(done)};
  if (done == 0) return {Status::kClosed};
  if (errno == ECONNRESET || errno == EPIPE) return {Status::kReset};
  if (errno != EAGAIN && errno != EINTR) throw Refused(std::strerror(errno));
  return {Status::kWantsToRead};
}

[[noreturn]] void throwConnectError(int peer, int error) {
  if (error == ECONNREFUSED) throw NobodyThere(peer, std::strerror(error));
  throw Refused(std::strerror(error));
}

}  // namespace

Greeting::Greeting(const Credentials& credentials, const TlsIdentity* identity, int peer, const SocketAddress& address)
    : credentials_(credentials), identity_(identity), target_(peer), otherEnd_(address.text()) {
  connection_.socket = Socket(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int result = connection_.socket.open() ? ::connect(descriptor(), address.get(), address.length()) : -1;
  if (result != 0 && errno != EINPROGRESS) throwConnectError(peer, errno);
  connecting_ = true;
  events_ = POLLOUT;
}

Greeting::Greeting(const Credentials& credentials, const TlsIdentity* identity, Socket socket)
    : credentials_(credentials), identity_(identity), events_(POLLIN) {
  otherEnd_ = SocketAddress::ofOtherEnd(socket).text();
  connection_.socket = std::move(socket);
}

bool Greeting::advance() {
  if (connecting_ && !finishConnecting()) return false;
  if (identity_ != nullptr && !encrypted_ && !encrypt()) return false;
  if (!handshake_) {
    auto name = encrypted_ ? std::optional(connection_.tls->peerName()) : std::nullopt;
    handshake_.emplace(credentials_, target_, std::move(name));
  }
  return talk();
}

bool Greeting::finishConnecting() {
  pollfd state = {.fd = descriptor(), .events = POLLOUT, .revents = 0};
  if (poll(&state, 1, 0) <= 0) return false;
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) throwConnectError(*target_, error);
  connecting_ = false;
  return true;
}

bool Greeting::encrypt() {
  if (connection_.tls == nullptr) {
    auto role = accepts() ? TlsSession::Role::kAccepts : TlsSession::Role::kConnects;
    connection_.tls = std::make_unique<TlsSession>(*identity_, descriptor(), role);
  }
  encrypted_ = settle(connection_.tls->handshake());
  return encrypted_;
}

// Either side waits for the other, so that not a byte of what comes behind the greeting is read here.
bool Greeting::talk() {
  while (true) {
    sending_ += handshake_->takeWord();
    if (!sending_.empty()) {
      if (!send()) return false;
    } else if (handshake_->done()) {
      return true;
    } else if (!receive()) {
      return false;
    }
  }
}

bool Greeting::send() {
  auto result = encrypted_ ? connection_.tls->write(sending_.data(), sending_.size())
                           : plainResult(::send(descriptor(), sending_.data(), sending_.size(), MSG_NOSIGNAL));
  if (!encrypted_ && result.status == Status::kWantsToRead) result.status = Status::kWantsToWrite;
  if (!settle(result)) return false;
  sending_.erase(0, result.bytes);
  return true;
}

bool Greeting::receive() {
  char bytes[256];
  size_t missing = std::min(handshake_->wanted() - heard_.size(), sizeof(bytes));
  auto result = encrypted_ ? connection_.tls->read(bytes, missing) : plainResult(recv(descriptor(), bytes, missing, 0));
  if (!settle(result)) return false;
  heard_.append(bytes, result.bytes);
  if (heard_.size() == handshake_->wanted()) handshake_->hear(std::exchange(heard_, {}));
  return true;
}

bool Greeting::settle(const TlsSession::Result& result) {
  switch (result.status) {
    case Status::kDone:
      return true;
    case Status::kWantsToRead:
      events_ = POLLIN;
      return false;
    case Status::kWantsToWrite:
      events_ = POLLOUT;
      return false;
    case Status::kClosed:
      throw HungUp("it closed the connection");
    case Status::kReset:
      throw HungUp("it reset the connection");
    case Status::kFailed:
      throw Refused(connection_.tls->reason());
  }
  return false;
}

}  // namespace bloomery::comm
