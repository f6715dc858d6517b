// Brings a rank together with all of its peers: it connects to the ranks below it and accepts those above, all at once
// on the calling thread. Whoever else comes is refused and logged, takes nobody's place, and cannot hold up the others.
#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/Cancellation.h"
#include "base/Log.h"
#include "comm/tcp/Connection.h"
#include "comm/tcp/Greeting.h"
#include "comm/tcp/Listener.h"

namespace bloomery::comm {

class PeerJoin {
 public:
  using Clock = Greeting::Clock;

  // addresses by rank. All but the addresses are borrowed. The listener is closed as soon as nobody is awaited at it.
  PeerJoin(const Credentials& credentials, std::vector<SocketAddress> addresses, Listener& listener, Log& log);

  // Connections by rank, this rank's own empty. PeerLost when a peer is gone, or not there in time; Cancelled.
  std::vector<Connection> run(Clock::time_point deadline, const Cancellation& cancellation);

  // After a failure: the peer that was waited for, and why a peer was refused, if it was.
  int awaited() const;
  std::string refusal(int peer) const { return refusals_[static_cast<size_t>(peer)]; }

 private:
  void connectTo(int peer);
  void connectAgain();
  void acceptAll();
  void waitForEvents();
  void advanceAll();
  bool advance(Greeting& greeting);
  void refuse(const Greeting& greeting, const Refused& refused);
  void tryLater(int peer, const Refused& refused);
  bool complete() const { return numMissing_ == 0; }
  int numAwaitedAtPort() const;

  const Credentials& credentials_;
  std::vector<SocketAddress> addresses_;
  Listener& listener_;
  Log& log_;
  std::optional<TlsIdentity> identity_;
  std::list<Greeting> greetings_;
  std::vector<Connection> connections_;
  std::vector<std::optional<Clock::time_point>> tryAgain_;  // by rank: when to connect anew
  std::vector<std::string> refusals_;                       // by rank: the newest that says why
  int numMissing_;
  int64_t numStrangers_ = 0;
};

}  // namespace bloomery::comm
