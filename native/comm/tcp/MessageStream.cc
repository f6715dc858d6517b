#include "comm/tcp/MessageStream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace bloomery::comm {

namespace {

// Of one call, so that both directions have their turn.
constexpr size_t kMostBytes = size_t{1} << 20;
// TLS makes a record of each piece that it is given, up to this size.
constexpr size_t kRecordBytes = size_t{16} << 10;

// Smaller ones come with their header.
constexpr size_t kFewestInRing = size_t{64} << 10;
// In the number of bytes of a header: they are in the ring.
constexpr uint64_t kInRing = uint64_t{1} << 63;

constexpr const char* kClosed = "it closed the connection";
constexpr const char* kNotAskedFor = "it sent what was not asked for";

std::string textOf(int error) {
  if (error == ECONNRESET) return "it reset the connection";
  return error == EPIPE || error == 0 ? kClosed : std::strerror(error);
}

// Moved bytes, 0 when the socket has to be waited for.
size_t movedBy(ssize_t returned) {
  if (returned > 0) return static_cast<size_t>(returned);
  if (returned == 0) throw StreamEnded(kClosed);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) throw StreamEnded(textOf(errno));
  return 0;
}

size_t movedBy(const TlsSession& tls, const TlsSession::Result& result, TlsSession::Status waits) {
  if (result.status == TlsSession::Status::kDone) return result.bytes;
  if (result.status == waits) return 0;
  switch (result.status) {
    case TlsSession::Status::kClosed:
      throw StreamEnded(kClosed);
    case TlsSession::Status::kReset:
      throw StreamEnded(textOf(ECONNRESET));
    case TlsSession::Status::kFailed:
      throw StreamEnded(tls.reason());
    default:
      throw StreamEnded("TLS cannot go on");
  }
}

// What one call sends or receives.
class Pieces {
 public:
  void add(const void* at, size_t size) {
    if (size == 0) return;
    pieces_[call_.msg_iovlen++] = {const_cast<void*>(at), size};
    size_ += size;
  }
  size_t size() const { return size_; }
  msghdr* call() {
    call_.msg_iov = pieces_;
    return &call_;
  }

 private:
  iovec pieces_[3] = {};
  msghdr call_ = {};
  size_t size_ = 0;
};

}  // namespace

MessageStream::MessageStream(Connection connection)
    : connection_(std::move(connection)), otherEnd_(SocketAddress::ofOtherEnd(connection_.socket).text()) {
  int on = 1;
  setsockopt(descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connection_.tls != nullptr) record_.resize(kRecordBytes);
}

void MessageStream::send(uint64_t slot, std::span<const std::byte> bytes, int& done) {
  bool inRing = ring_ && bytes.size() >= kFewestInRing && ring_->put(bytes);
  outgoing_.push_back({{slot, bytes.size() | (inRing ? kInRing : 0)}, bytes.data(), 0, &done});
}

void MessageStream::receive(uint64_t slot, std::span<std::byte> bytes, int& done) {
  incoming_.push_back({{slot, bytes.size()}, bytes.data(), 0, &done});
}

void MessageStream::advance() {
  bool writable = true, readable = true;
  while ((writable && !outgoing_.empty()) || (readable && !incoming_.empty())) {
    if (writable && !outgoing_.empty()) writable = writeSome();
    if (readable && !incoming_.empty()) readable = readSome();
  }
}

short MessageStream::events() const {
  return static_cast<short>((outgoing_.empty() ? 0 : POLLOUT) | (incoming_.empty() ? 0 : POLLIN));
}

void MessageStream::throwError() const {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  throw StreamEnded(textOf(error));
}

bool MessageStream::concerns(const int& done) const {
  auto tells = [&](const auto& message) { return message.done == &done; };
  return std::ranges::any_of(outgoing_, tells) || std::ranges::any_of(incoming_, tells);
}

void MessageStream::close(bool reset) {
  linger atOnce = {.l_onoff = 1, .l_linger = 0};
  if (reset) setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &atOnce, sizeof(atOnce));
  connection_.socket.close();
  outgoing_.clear();
  incoming_.clear();
}

size_t MessageStream::Outgoing::numBehindHeader() const {
  return (header.numBytes & kInRing) != 0 ? 0 : header.numBytes;
}

bool MessageStream::writeSome() {
  Outgoing& message = outgoing_.front();
  size_t moved = 0;
  bool more = connection_.tls == nullptr ? writePlain(message, moved) : writeEncrypted(message, moved);
  message.numSent += moved;
  if (message.numSent == sizeof(Header) + message.numBehindHeader()) {
    ++*message.done;
    outgoing_.erase(outgoing_.begin());
  }
  return more;
}

bool MessageStream::writePlain(const Outgoing& message, size_t& moved) {
  Pieces pieces;
  size_t ofHeader = std::min(message.numSent, sizeof(Header)), ofBytes = message.numSent - ofHeader;
  pieces.add(reinterpret_cast<const char*>(&message.header) + ofHeader, sizeof(Header) - ofHeader);
  pieces.add(message.bytes + ofBytes, std::min(message.numBehindHeader() - ofBytes, kMostBytes));
  moved = movedBy(sendmsg(descriptor(), pieces.call(), MSG_NOSIGNAL | MSG_DONTWAIT));
  return moved == pieces.size();
}

// A message begins with a record that holds its header, too.
bool MessageStream::writeEncrypted(const Outgoing& message, size_t& moved) {
  size_t size = sizeof(Header) + message.header.numBytes, first = std::min(size, kRecordBytes);
  const std::byte* from = nullptr;
  size_t end = size;
  if (message.numSent < first) {
    std::memcpy(record_.data(), &message.header, sizeof(Header));
    if (first > sizeof(Header)) std::memcpy(record_.data() + sizeof(Header), message.bytes, first - sizeof(Header));
    from = record_.data() + message.numSent;
    end = first;
  } else {
    from = message.bytes + (message.numSent - sizeof(Header));
  }
  auto result = connection_.tls->write(from, end - message.numSent);
  // A peer that is gone is told of by the next read, after what it sent before.
  if (result.status == TlsSession::Status::kReset && !incoming_.empty()) return false;
  moved = movedBy(*connection_.tls, result, TlsSession::Status::kWantsToWrite);
  return moved > 0;
}

bool MessageStream::readSome() {
  const Incoming& message = incoming_.front();
  size_t moved = 0;
  bool more = true;
  bool complete = headBytes_ == sizeof(Header) && (isInRing() || message.numReceived == message.header.numBytes);
  if (!complete) {
    more = connection_.tls == nullptr ? readPlain(message, moved) : readEncrypted(message, moved);
  }
  took(moved);
  return more;
}

bool MessageStream::mayBeInRing(const Incoming& message) const {
  return ring_ && message.header.numBytes >= kFewestInRing && message.header.numBytes <= MessageRing::kBytes;
}

bool MessageStream::isInRing() const { return mayBeInRing(incoming_.front()) && (heads_[0].numBytes & kInRing) != 0; }

// The whole message at one go, and the next one's header: what is expected has a known size. It is looked at as soon as
// its own header is there; of one that may be in the ring, only that is read first.
bool MessageStream::readPlain(const Incoming& message, size_t& moved) {
  Pieces pieces;
  size_t left = message.header.numBytes - message.numReceived;
  pieces.add(reinterpret_cast<char*>(heads_) + headBytes_, sizeof(Header) - headBytes_);
  if (!mayBeInRing(message) || headBytes_ == sizeof(Header)) {
    pieces.add(message.bytes + message.numReceived, std::min(left, kMostBytes));
    if (left <= kMostBytes) pieces.add(heads_ + 1, sizeof(Header));
  }
  moved = movedBy(recvmsg(descriptor(), pieces.call(), MSG_DONTWAIT));
  return moved == pieces.size();
}

bool MessageStream::readEncrypted(const Incoming& message, size_t& moved) {
  bool head = headBytes_ < sizeof(Header);
  void* to = head ? reinterpret_cast<std::byte*>(heads_) + headBytes_ : message.bytes + message.numReceived;
  size_t wanted = head ? sizeof(Header) - headBytes_ : message.header.numBytes - message.numReceived;
  moved = movedBy(*connection_.tls, connection_.tls->read(to, wanted), TlsSession::Status::kWantsToRead);
  return moved > 0;
}

void MessageStream::took(size_t moved) {
  Incoming& message = incoming_.front();
  size_t ofHead = std::min(moved, sizeof(Header) - headBytes_);
  headBytes_ += ofHead;
  if (headBytes_ < sizeof(Header)) return;
  bool inRing = isInRing();
  if (inRing) heads_[0].numBytes &= ~kInRing;
  if (heads_[0] != message.header) throw StreamEnded(kNotAskedFor);
  if (inRing) {
    ring_->take({message.bytes, message.header.numBytes});
    message.numReceived = message.header.numBytes;
  }
  size_t ofBytes = std::min(moved - ofHead, message.header.numBytes - message.numReceived);
  message.numReceived += ofBytes;
  if (message.numReceived < message.header.numBytes) return;
  finishReading();
  heads_[0] = heads_[1];
  headBytes_ = moved - ofHead - ofBytes;
}

void MessageStream::finishReading() {
  ++*incoming_.front().done;
  incoming_.erase(incoming_.begin());
}

}  // namespace bloomery::comm
