// A transport for Gloo's algorithms between all pairs of ranks, without a thread of its own: whoever waits for a
// message moves the bytes of all connections meanwhile. Every operation has one deadline; a failure ends all
// connections at once and is told by the rank that caused it. Made by GlooConnector, used by GlooCommunicator on one
// thread at a time; `abort` may come from any thread.
#pragma once

#include <gloo/transport/context.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/Cancellation.h"
#include "comm/tcp/MessageStream.h"

namespace bloomery::comm {

// Why not Gloo's own transport: it has a thread for each rank, which shares the core with the one that computes and
// hands over every message through a lock. While the lock is taken, that thread asks for it without a pause, so that a
// sum of kilobytes takes a time slice of the scheduler. Its waits have time-outs of their own, of which an operation
// makes many, and do not all end when a peer is lost; its connections take the first comer, and its TLS holds the lock
// while a peer does not read.
class Mesh : public gloo::transport::Context {
 public:
  // Connections with all peers, by rank; this rank's own is not looked at.
  Mesh(int ownRank, std::vector<Connection> connections);

  // By rank, with those to whom large messages go through memory from here on; between operations.
  void share(std::vector<std::optional<MessageRing>> rings);
  bool sharesWithAll() const { return numRings_ + 1 == size; }

  // All waits till the next call end at this time.
  using Clock = std::chrono::steady_clock;
  void setDeadline(Clock::time_point deadline) { deadline_ = deadline; }
  // Waits look at it from time to time, till it is taken back with nothing.
  void setCancellation(const Cancellation* cancellation) { cancellation_ = cancellation; }

  // Ends all connections as a failure does: waits at the peers fail at once.
  void close();
  // The same, on demand, from any thread. The wait under way fails.
  void abort();
  bool aborted() const { return aborted_; }

  // The first thing that went wrong, for the message.
  struct Loss {
    int rank;
    std::string reason;
  };
  std::optional<Loss> firstLoss() const;

  int64_t bytesSent() const { return bytesSent_; }
  // That reached peers in another way than by messages.
  void countSent(size_t bytes) { bytesSent_ += static_cast<int64_t>(bytes); }

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override;

 private:
  friend class MeshBuffer;
  void send(int peer, uint64_t slot, std::span<const std::byte> bytes, int& done);
  void receive(int peer, uint64_t slot, std::span<std::byte> bytes, int& done);
  // Till `done` is positive; then takes one off it.
  void wait(int& done, int peer, const char* complaint);
  void forget(const int& done);

  MessageStream& streamOf(int peer);
  // Calls body(), and turns the end of a stream into that of all.
  template <typename Body>
  void guard(int peer, Body body);
  void poll(Clock::time_point deadline, std::unique_lock<std::mutex>& lock);
  void lose(int peer, const std::string& reason);
  void closeAll();
  [[noreturn]] void throwLoss() const;

  Clock::time_point deadline_ = Clock::time_point::max();
  const Cancellation* cancellation_ = nullptr;
  std::atomic<bool> aborted_ = false;
  std::atomic<int64_t> bytesSent_ = 0;
  Socket wake_;  // an event, for a wait that has to look up

  mutable std::mutex streamsMutex_;  // never held while waiting
  std::vector<std::optional<MessageStream>> streams_;
  int numRings_ = 0;
  bool closed_ = false;
  std::optional<Loss> loss_;
  std::vector<pollfd> polled_;  // by rank; the last one wakes
};

// Gloo's messages begin with the path of its source file.
std::string withoutSourcePlace(const std::string& text);

}  // namespace bloomery::comm
