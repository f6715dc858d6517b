#include "comm/tcp/PeerJoin.h"

#include <poll.h>

#include <algorithm>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

// A cancellation does not notify, so the wait looks at it this often.
constexpr auto kCancellationInterval = std::chrono::milliseconds(20);
// After a connection that a busy or beset peer did not take.
constexpr auto kBeforeTryingAgain = std::chrono::milliseconds(100);
// Whoever has not greeted by then makes room. A peer that was only slow comes again.
constexpr auto kLongestGreeting = std::chrono::seconds(10);
constexpr size_t kMostStrangers = 64;  // that are listened to at once, beside the peers
constexpr int64_t kMostLogged = 20;

}  // namespace

PeerJoin::PeerJoin(const Credentials& credentials, std::vector<SocketAddress> addresses, Listener& listener, Log& log)
    : credentials_(credentials),
      addresses_(std::move(addresses)),
      listener_(listener),
      log_(log),
      connections_(addresses_.size()),
      tryAgain_(addresses_.size()),
      refusals_(addresses_.size()),
      numMissing_(credentials.size - 1) {
  check(static_cast<int>(addresses_.size()) == credentials.size, "Wrong number of addresses: ", addresses_.size());
  if (credentials.tls) identity_.emplace(*credentials.tls);
}

std::vector<Connection> PeerJoin::run(Clock::time_point deadline, const Cancellation& cancellation) {
  for (int peer = 0; peer < credentials_.rank; ++peer) connectTo(peer);
  while (!complete()) {
    cancellation.throwIfCancelled();
    if (Clock::now() >= deadline) throw PeerLost("Not connected in time");
    if (numAwaitedAtPort() == 0) listener_.close();
    waitForEvents();
    acceptAll();
    connectAgain();
    advanceAll();
  }
  listener_.close();
  for (const Greeting& greeting : greetings_) refuse(greeting, Refused("it did not greet before all peers had come"));
  return std::move(connections_);
}

int PeerJoin::awaited() const {
  for (int peer = 0; peer < credentials_.size; ++peer) {
    if (peer != credentials_.rank && !connections_[static_cast<size_t>(peer)].socket.open()) return peer;
  }
  return credentials_.rank;
}

int PeerJoin::numAwaitedAtPort() const {
  auto first = connections_.begin() + credentials_.rank + 1;
  return static_cast<int>(std::count_if(first, connections_.end(), [](const auto& one) { return !one.socket.open(); }));
}

void PeerJoin::connectTo(int peer) {
  auto index = static_cast<size_t>(peer);
  tryAgain_[index].reset();
  try {
    greetings_.emplace_back(credentials_, identity_ ? &*identity_ : nullptr, peer, addresses_[index]);
  } catch (const Refused& refused) {
    tryLater(peer, refused);
  }
}

void PeerJoin::tryLater(int peer, const Refused& refused) {
  auto index = static_cast<size_t>(peer);
  tryAgain_[index] = Clock::now() + kBeforeTryingAgain;
  // A peer that gives up hangs up: why the two did not come together was said before.
  bool saysWhy = dynamic_cast<const HungUp*>(&refused) == nullptr;
  if (saysWhy || refusals_[index].empty()) refusals_[index] = refused.what();
}

void PeerJoin::connectAgain() {
  for (int peer = 0; peer < credentials_.rank; ++peer) {
    const auto& when = tryAgain_[static_cast<size_t>(peer)];
    if (when && *when <= Clock::now()) connectTo(peer);
  }
}

void PeerJoin::waitForEvents() {
  std::vector<pollfd> sockets;
  if (listener_.open()) sockets.push_back({.fd = listener_.descriptor(), .events = POLLIN, .revents = 0});
  for (const Greeting& greeting : greetings_) {
    sockets.push_back({.fd = greeting.descriptor(), .events = greeting.events(), .revents = 0});
  }
  poll(sockets.data(), sockets.size(), static_cast<int>(kCancellationInterval.count()));
}

void PeerJoin::acceptAll() {
  while (listener_.open()) {
    Socket socket = listener_.accept();
    if (!socket.open()) return;
    greetings_.emplace_back(credentials_, identity_ ? &*identity_ : nullptr, std::move(socket));
    // The oldest goes first: a peer greets at once.
    auto accepts = [](const Greeting& greeting) { return greeting.accepts(); };
    auto limit = kMostStrangers + addresses_.size();
    if (static_cast<size_t>(std::count_if(greetings_.begin(), greetings_.end(), accepts)) > limit) {
      auto oldest = std::find_if(greetings_.begin(), greetings_.end(), accepts);
      refuse(*oldest, Refused("too many others came"));
      greetings_.erase(oldest);
    }
  }
}

void PeerJoin::advanceAll() {
  std::erase_if(greetings_, [&](Greeting& greeting) { return advance(greeting); });
}

// True when nothing more is to be done with it.
bool PeerJoin::advance(Greeting& greeting) {
  try {
    if (!greeting.advance()) {
      if (Clock::now() - greeting.begin() < kLongestGreeting) return false;
      throw Refused("it did not greet in time");
    }
    auto& connection = connections_[static_cast<size_t>(greeting.peer())];
    if (connection.socket.open()) throw Refused(message("rank ", greeting.peer(), " is there already"));
    connection = greeting.take();
    --numMissing_;
  } catch (const Refused& refused) {
    refuse(greeting, refused);
  }
  return true;
}

void PeerJoin::refuse(const Greeting& greeting, const Refused& refused) {
  if (auto target = greeting.target()) return tryLater(*target, refused);
  if (++numStrangers_ > kMostLogged) return;
  log_.line(message("Refused a connection from ", greeting.otherEnd(), " to rank ", credentials_.rank, ": ",
                    refused.what(), numStrangers_ == kMostLogged ? "; further ones are not told" : ""));
}

}  // namespace bloomery::comm
