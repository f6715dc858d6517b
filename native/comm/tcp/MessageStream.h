// Messages both ways over a connection whose other end has proven who it is. Nothing here waits: `advance` moves what
// the socket takes and has, and the caller polls in between. Both ends send and await the same messages in the same
// order; one that was not expected ends the stream. Memory is lent till its message is done. Between ends on one
// machine large messages go through a ring in memory. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/host/MessageRing.h"
#include "comm/tcp/Connection.h"

namespace bloomery::comm {

// The stream cannot go on; the text says why, as in "Lost contact with rank 1: it closed the connection".
struct StreamEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class MessageStream {
 public:
  explicit MessageStream(Connection connection);

  // From here on large messages go through it, where there is room; the other end's from its next message on.
  void share(MessageRing ring) { ring_.emplace(std::move(ring)); }

  // Each adds one to `done` when the last byte has been handed to the socket or the ring, or has come.
  void send(uint64_t slot, std::span<const std::byte> bytes, int& done);
  void receive(uint64_t slot, std::span<std::byte> bytes, int& done);

  // Moves what can be moved without waiting; StreamEnded.
  void advance();
  // What poll(2) should look for; with nothing to move, only for a connection that was reset.
  short events() const;
  int descriptor() const { return connection_.socket.descriptor(); }
  // Why a connection that poll(2) found broken is so.
  [[noreturn]] void throwError() const;

  // Whether a message under way would tell `done`, as it must not once that is gone.
  bool concerns(const int& done) const;
  // With `reset` the other end sees a failure and not an end in order, whatever it waits for.
  void close(bool reset);
  std::string peerAddress() const { return otherEnd_; }

 private:
  // Comes before the bytes of a message.
  struct Header {
    uint64_t slot = 0;
    uint64_t numBytes = 0;
    bool operator==(const Header&) const = default;
  };
  struct Outgoing {
    Header header;
    const std::byte* bytes;
    size_t numSent;  // of the header and what follows it
    int* done;
    // What follows the header: the bytes, unless they are in the ring.
    size_t numBehindHeader() const;
  };
  struct Incoming {
    Header header;
    std::byte* bytes;
    size_t numReceived;  // without the header
    int* done;
  };
  // Whether more can be moved at once.
  bool writeSome();
  void finishWriting();
  bool writePlain(const Outgoing& message, size_t& moved);
  bool writeEncrypted(const Outgoing& message, size_t& moved);
  bool readSome();
  bool readPlain(const Incoming& message, size_t& moved);
  bool readEncrypted(const Incoming& message, size_t& moved);
  bool mayBeInRing(const Incoming& message) const;
  // Whether it has the message that is read, whose header is there.
  bool isInRing() const;
  void took(size_t moved);
  void finishReading();

  Connection connection_;
  std::string otherEnd_;
  std::vector<Outgoing> outgoing_;  // the first one is under way
  std::vector<Incoming> incoming_;
  std::optional<MessageRing> ring_;
  std::vector<std::byte> record_;  // what is encrypted together, of a message's beginning
  // The header of the message that comes next, and how much of it has come; behind it room for the one after.
  Header heads_[2];
  size_t headBytes_ = 0;
};

}  // namespace bloomery::comm
