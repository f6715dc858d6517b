// Brings ranks in different processes together over TCP in two steps: `address` is what this rank tells the others,
// by whatever rendezvous the caller has; `connect` takes everybody's and gives the communicator. No Gloo type appears
// in this header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/Cancellation.h"
#include "comm/Communicator.h"

namespace bloomery::comm {

class GlooConnector {
 public:
  // host: the local address or name that the peers reach this rank by.
  GlooConnector(int rank, int size, const std::string& host, Timeout connectTimeout);
  ~GlooConnector();  // gives up a connect under way

  // Waits till this rank listens; opaque bytes.
  std::string address();
  // addresses by rank, this rank's included. PeerLost when not all ranks are connected within the timeout, Cancelled
  // when cancelled.
  std::unique_ptr<Communicator> connect(const std::vector<std::string>& addresses, const Cancellation& cancellation);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::comm
