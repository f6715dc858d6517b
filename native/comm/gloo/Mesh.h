// Gloo's TCP transport between all pairs of ranks, made fit for our promises: every operation has one deadline, a
// failure reaches every wait at once and is told by the rank that caused it. Made by GlooConnector, used by
// GlooCommunicator; `abort` may come from any thread.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/tcp/Connection.h"

namespace bloomery::comm {

class MeshBuffer;

// What Gloo leaves undone, and where it is done here:
// - A pair that fails wakes the buffers whose transfer has not begun, but forgets the transfer under way (`rx_`, `tx_`
//   in its pair.cc): a wait for it would sleep till its time-out although the peer is gone. MeshPair wakes it, too.
// - `closeConnections` wakes nobody. `signalException`, on the other hand, ends each pair with an error, which closes
//   the sockets and, with MeshPair, wakes every local wait: that is `close`.
// - A rank that waits for a second one does not learn that a third has failed. So a pair that ends with an error resets
//   its connection, while one that ends in order just closes it; a reset wakes every wait of the peer, whoever it waits
//   for, and the peer in its turn resets its other connections: all ranks know within milliseconds.
// - Whatever is thrown on the transport's own thread (a peer that sends what nobody asked for is enough) would end the
//   process. MeshPair turns it into a failure of the pair.
// - A pair takes the first connection that comes to its port, whoever made it. MeshPair is given connections whose
// other
//   end has proven who it is, and has no port.
// - Its TLS pair spins with the pair's mutex held while the peer does not read, so that no deadline or abort can end
//   it, and wants its key in a file. MeshPair reads and writes through a TlsSession as it does through the socket.
// - Time-outs are per wait, of which an operation makes many. MeshBuffer waits till the operation's deadline instead.
class Mesh : public gloo::transport::tcp::Context {
 public:
  Mesh(std::shared_ptr<gloo::transport::tcp::Device> device, int ownRank, int numRanks);
  ~Mesh() override;

  // Takes over the connections with all peers, by rank. To be called once, before anything else.
  void adopt(std::vector<Connection> connections);

  // All waits till the next call end at this time.
  using Clock = std::chrono::steady_clock;
  void setDeadline(Clock::time_point deadline) { deadline_ = deadline; }
  Clock::time_point deadline() const { return deadline_; }

  // Ends all connections; waits under way, here and at the peers, fail.
  void close();
  // The same, on demand and not because something failed.
  void abort();
  bool aborted() const { return aborted_; }

  // The first thing that went wrong, for the message.
  struct Loss {
    int rank;
    std::string reason;
  };
  std::optional<Loss> firstLoss() const;
  void lose(int peer, const std::string& reason);

  // Fails the waits of all buffers. Takes no pair's mutex, so that the transport's thread may call it.
  void wakeAll(std::exception_ptr reason);

  int64_t bytesSent() const { return bytesSent_; }

  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override;

 private:
  friend class MeshBuffer;
  void enter(MeshBuffer* buffer);
  void leave(MeshBuffer* buffer);

  Clock::time_point deadline_ = Clock::time_point::max();
  std::atomic<bool> aborted_ = false;
  std::atomic<int64_t> bytesSent_ = 0;
  mutable std::mutex lossMutex_;
  std::optional<Loss> loss_;
  std::mutex buffersMutex_;  // taken before a buffer's own
  std::vector<MeshBuffer*> buffers_;
  std::exception_ptr doom_;  // fails buffers that are yet to come
};

// Gloo's messages begin with the path of its source file.
std::string withoutSourcePlace(const std::string& text);

}  // namespace bloomery::comm
