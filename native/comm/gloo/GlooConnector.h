// Brings ranks in different processes together over TCP in two steps: `address` is what this rank tells the others,
// by whatever rendezvous the caller has; `connect` takes everybody's, and what this rank proves itself with, and gives
// the communicator. No Gloo type appears in this header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/Cancellation.h"
#include "base/Log.h"
#include "comm/Communicator.h"

namespace bloomery::comm {

class GlooConnector {
 public:
  // What large messages between ranks on one machine do.
  enum class OnOneMachine { kShareMemory, kConnections };

  // Listens at once. host: the local address or name that the peers reach this rank by; a UserError says why it
  // cannot be listened on.
  GlooConnector(int rank, int size, const std::string& host, Timeout connectTimeout,
                OnOneMachine onOneMachine = OnOneMachine::kShareMemory);
  ~GlooConnector();  // stops listening, unless the connections were handed on

  // Opaque bytes; empty for a group of one.
  std::string address();
  // addresses by rank, this rank's included; credentials as `issueCredentials` made them, empty for a group of one.
  // Whoever comes without them is refused and logged. PeerLost when not all ranks are connected within the timeout,
  // Cancelled when cancelled. May be called once.
  std::unique_ptr<Communicator> connect(const std::vector<std::string>& addresses, const std::string& credentials,
                                        const Cancellation& cancellation, Log& log);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::comm
