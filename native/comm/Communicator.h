// How the workers of one training talk: a few collectives over a fixed group, each with a deadline. All ranks make
// the same calls in the same order. After a failure the communicator is dead. One thread uses it at a time; `abort`
// may come from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/Activity.h"
#include "tensor/Arena.h"
#include "tensor/Halves.h"

namespace bloomery::comm {

using Timeout = std::chrono::milliseconds;

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sums over all ranks, in place, bit-equal on every rank. PeerLost names the operation, this rank and, where it is
  // known, the peer, when it takes longer than the timeout or a peer closes.
  virtual void allreduce(std::span<float> values, Timeout timeout) = 0;
  virtual void allreduce(std::span<double> values, Timeout timeout) = 0;
  // The same for floats of 16 bits: every sum of two is rounded to them. Whoever stands in for a group may leave it
  // out.
  virtual void allreduceHalves(std::span<uint16_t> values, HalfFormat format, Timeout timeout);
  // Everybody's value, by rank.
  virtual std::vector<uint64_t> allgather(uint64_t value, Timeout timeout) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root, Timeout timeout) = 0;

  // From here on, till the next call, sums of these values, which lie at the same places on all ranks, may be made in
  // memory that the ranks share. All ranks call it; where memory cannot be shared, nothing changes.
  virtual void share(const Arena&, Timeout) {}

  // Of the values and their sums that this rank has sent to others so far, without what the transport adds; while no
  // call is under way.
  virtual int64_t bytesSent() const { return 0; }

  // Makes calls under way and later ones fail at once: here with Cancelled, at the peers with PeerLost.
  virtual void abort() = 0;

  // What it is about; whoever calls an operation may say what it is for.
  Activity& activity() { return activity_; }

 private:
  Activity activity_;
};

}  // namespace bloomery::comm
