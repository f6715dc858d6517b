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

// From here on a copy less is worth an answer more.
constexpr size_t kFewestLent = size_t{64} << 10;
// In the number of bytes of a header: they are lent, and their address follows.
constexpr uint64_t kLent = uint64_t{1} << 63;
// Instead of a number: the first of what was lent has been read.
constexpr uint64_t kWasRead = uint64_t{1} << 62;

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
  bool lent = memory_ && bytes.size() >= kFewestLent;
  outgoing_.push_back({{slot, bytes.size() | (lent ? kLent : 0)}, bytes.data(), 0, &done});
}

void MessageStream::receive(uint64_t slot, std::span<std::byte> bytes, int& done) {
  incoming_.push_back({{slot, bytes.size()}, bytes.data(), 0, &done});
}

void MessageStream::advance() {
  bool writable = true, readable = true;
  while ((writable && !outgoing_.empty()) || (readable && awaitsAnything())) {
    if (writable && !outgoing_.empty()) writable = writeSome();
    if (readable && awaitsAnything()) readable = memory_ ? readFrame() : readSome();
  }
}

short MessageStream::events() const {
  bool heldUp = incoming_.empty() && headBytes_ == sizeof(Header);  // by a message that nobody has asked for yet
  return static_cast<short>((outgoing_.empty() ? 0 : POLLOUT) | (awaitsAnything() && !heldUp ? POLLIN : 0));
}

void MessageStream::throwError() const {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  throw StreamEnded(textOf(error));
}

bool MessageStream::concerns(const int& done) const {
  auto tells = [&](const auto& message) { return message.done == &done; };
  return std::ranges::any_of(outgoing_, tells) || std::ranges::any_of(incoming_, tells) ||
         std::ranges::count(lent_, &done) > 0;
}

void MessageStream::close(bool reset) {
  linger atOnce = {.l_onoff = 1, .l_linger = 0};
  if (reset) setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &atOnce, sizeof(atOnce));
  connection_.socket.close();
  outgoing_.clear();
  incoming_.clear();
  lent_.clear();
}

std::span<const std::byte> MessageStream::Outgoing::behindHeader() const {
  if (done == nullptr) return {};
  if ((header.numBytes & kLent) != 0) return std::as_bytes(std::span(&bytes, 1));
  return {bytes, header.numBytes};
}

bool MessageStream::writeSome() {
  Outgoing& message = outgoing_.front();
  size_t moved = 0;
  bool more = connection_.tls == nullptr ? writePlain(message, moved) : writeEncrypted(message, moved);
  message.numSent += moved;
  if (message.numSent == sizeof(Header) + message.behindHeader().size()) finishWriting();
  return more;
}

void MessageStream::finishWriting() {
  const Outgoing& message = outgoing_.front();
  if (message.done != nullptr && (message.header.numBytes & kLent) != 0) {
    lent_.push_back(message.done);
  } else if (message.done != nullptr) {
    ++*message.done;
  }
  outgoing_.erase(outgoing_.begin());
}

bool MessageStream::writePlain(const Outgoing& message, size_t& moved) {
  Pieces pieces;
  size_t ofHeader = std::min(message.numSent, sizeof(Header)), ofBytes = message.numSent - ofHeader;
  std::span<const std::byte> left = message.behindHeader().subspan(ofBytes);
  pieces.add(reinterpret_cast<const char*>(&message.header) + ofHeader, sizeof(Header) - ofHeader);
  pieces.add(left.data(), std::min(left.size(), kMostBytes));
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
  if (headBytes_ < sizeof(Header) || message.numReceived < message.header.numBytes) {
    more = connection_.tls == nullptr ? readPlain(message, moved) : readEncrypted(message, moved);
  }
  took(moved);
  return more;
}

// The whole message at one go, and the next one's header: what is expected has a known size. It is looked at as soon as
// its own header is there.
bool MessageStream::readPlain(const Incoming& message, size_t& moved) {
  Pieces pieces;
  size_t left = message.header.numBytes - message.numReceived;
  pieces.add(reinterpret_cast<char*>(heads_) + headBytes_, sizeof(Header) - headBytes_);
  pieces.add(message.bytes + message.numReceived, std::min(left, kMostBytes));
  if (left <= kMostBytes) pieces.add(heads_ + 1, sizeof(Header));
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
  if (heads_[0] != message.header) throw StreamEnded(kNotAskedFor);
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

// A header is read by itself, since a word may come in place of the message that is awaited. A message that nobody has
// asked for yet holds up the words behind it till somebody does. Nobody waits for such a word in vain: Gloo's ring asks
// for piece n before it waits for its own piece n-1 to be taken, and sends piece n+1 only when it has taken the other
// end's n-1, so that the word for that goes before it; every operation waits for all that it has sent.
bool MessageStream::readFrame() {
  if (!readPiece(heads_, sizeof(Header), headBytes_)) return false;
  if (heads_[0].numBytes == kWasRead) {
    if (lent_.empty()) throw StreamEnded(kNotAskedFor);
    ++*lent_.front();
    lent_.erase(lent_.begin());
    headBytes_ = 0;
    return true;
  }
  if (incoming_.empty()) return false;
  Incoming& message = incoming_.front();
  bool lent = (heads_[0].numBytes & kLent) != 0;
  if (Header{heads_[0].slot, heads_[0].numBytes & ~kLent} != message.header) throw StreamEnded(kNotAskedFor);
  if (!(lent ? readLent(message) : readPiece(message.bytes, message.header.numBytes, message.numReceived)))
    return false;
  finishReading();
  headBytes_ = 0;
  return true;
}

bool MessageStream::readLent(Incoming& message) {
  if (!readPiece(&address_, sizeof(address_), addressBytes_)) return false;
  addressBytes_ = 0;
  try {
    memory_->read(address_, {message.bytes, message.header.numBytes});
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_process) throw StreamEnded("its process has ended");
    throw StreamEnded("its memory cannot be read: " + error.code().message());
  }
  outgoing_.push_back({{0, kWasRead}, nullptr, 0, nullptr});
  return true;
}

// Whether all that is wanted is there.
bool MessageStream::readPiece(void* to, size_t wanted, size_t& numRead) {
  if (numRead == wanted) return true;
  numRead += movedBy(recv(descriptor(), static_cast<std::byte*>(to) + numRead, wanted - numRead, MSG_DONTWAIT));
  return numRead == wanted;
}

}  // namespace bloomery::comm
