#include "comm/gloo/GlooConnector.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/Error.h"
#include "comm/gloo/GlooCommunicator.h"
#include "comm/gloo/Mesh.h"
#include "comm/local/LocalGroup.h"
#include "comm/tcp/BrokenPipeGuard.h"
#include "comm/tcp/PeerJoin.h"

namespace bloomery::comm {

namespace {

// Comes before the address of a rank, so that a mistake of the rendezvous is not taken for a dead peer.
struct AddressHeader {
  char magic[4] = {'B', 'L', 'M', '2'};
  int32_t rank = 0;
  int32_t size = 0;
};

SocketAddress readAddress(const std::string& address, int rank, int size) {
  AddressHeader expected{.rank = rank, .size = size};
  SocketAddress result;
  bool right = address.size() == sizeof(expected) + sizeof(result.storage) &&
               std::memcmp(address.data(), &expected, sizeof(expected)) == 0;
  check(right, "Not the address of rank ", rank, " of ", size, ": ", address.size(), " bytes");
  std::memcpy(&result.storage, address.data() + sizeof(expected), sizeof(result.storage));
  return result;
}

}  // namespace

struct GlooConnector::State {
  std::vector<Connection> join(const Credentials& credentials, const std::vector<std::string>& addresses,
                               PeerJoin::Clock::time_point deadline, const Cancellation& cancellation, Log& log);

  int rank;
  int size;
  Timeout timeout;
  std::optional<Listener> listener;  // none in a group of one and after connecting
};

GlooConnector::GlooConnector(int rank, int size, const std::string& host, Timeout connectTimeout)
    : state_(std::make_unique<State>(State{rank, size, connectTimeout, std::nullopt})) {
  check(size > 0 && rank >= 0 && rank < size, "No such rank: ", rank, " of ", size);
  if (size > 1) state_->listener.emplace(host);
}

GlooConnector::~GlooConnector() = default;

std::string GlooConnector::address() {
  if (state_->size == 1) return {};
  check(state_->listener.has_value(), "Address was asked for after connecting");
  AddressHeader header{.rank = state_->rank, .size = state_->size};
  const sockaddr_storage& storage = state_->listener->address().storage;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header))
      .append(reinterpret_cast<const char*>(&storage), sizeof(storage));
}

std::vector<Connection> GlooConnector::State::join(const Credentials& credentials,
                                                   const std::vector<std::string>& addresses,
                                                   PeerJoin::Clock::time_point deadline,
                                                   const Cancellation& cancellation, Log& log) {
  std::vector<SocketAddress> peers;
  for (int peer = 0; peer < size; ++peer) {
    peers.push_back(readAddress(addresses[static_cast<size_t>(peer)], peer, size));
  }
  BrokenPipeGuard guard;
  PeerJoin join(credentials, std::move(peers), *listener, log);
  try {
    return join.run(deadline, cancellation);
  } catch (const NobodyThere& gone) {
    std::string before = join.refusal(gone.peer());
    throw PeerLost(message("Cannot connect to rank ", gone.peer(), " on rank ", rank, " of ", size, ": ", gone.what(),
                           before.empty() ? "" : ", and before that: ", before));
  } catch (const PeerLost&) {
    std::string refusal = join.refusal(join.awaited());
    throw PeerLost(message("Not connected within ", timeout.count(), " ms: waited for rank ", join.awaited(),
                           " on rank ", rank, " of ", size, refusal.empty() ? "" : ": ", refusal));
  }
}

std::unique_ptr<Communicator> GlooConnector::connect(const std::vector<std::string>& addresses,
                                                     const std::string& credentials, const Cancellation& cancellation,
                                                     Log& log) {
  State& state = *state_;
  check(static_cast<int>(addresses.size()) == state.size, "Wrong number of addresses: ", addresses.size());
  if (state.size == 1) return std::move(makeLocalGroup(1)[0]);
  check(state.listener.has_value(), "Connected twice");
  const auto deadline = Mesh::Clock::now() + state.timeout;
  auto connections =
      state.join(Credentials::read(credentials, state.rank, state.size), addresses, deadline, cancellation, log);
  state.listener.reset();
  auto mesh = std::make_shared<Mesh>(state.rank, std::move(connections));
  auto communicator = std::make_unique<GlooCommunicator>(mesh);

  // A pair that both ends know of does not mean that the others have all of theirs: only who hears from everybody is
  // connected.
  mesh->setCancellation(&cancellation);
  try {
    auto left = std::chrono::ceil<Timeout>(deadline - Mesh::Clock::now());
    auto ranks = communicator->allgather(static_cast<uint64_t>(state.rank), std::max(left, Timeout(0)));
    for (size_t i = 0; i < ranks.size(); ++i) check(ranks[i] == i, "Rank ", i, " says that it is rank ", ranks[i]);
  } catch (const Cancelled&) {
    cancellation.throwIfCancelled();
    throw;
  } catch (const PeerLost&) {
    if (Mesh::Clock::now() < deadline) throw;
    throw PeerLost(message("Not connected within ", state.timeout.count(),
                           " ms: other workers lack each other, on rank ", state.rank, " of ", state.size));
  }
  mesh->setCancellation(nullptr);
  return communicator;
}

}  // namespace bloomery::comm
