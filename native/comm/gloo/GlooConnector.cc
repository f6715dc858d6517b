#include "comm/gloo/GlooConnector.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/Error.h"
#include "comm/gloo/GlooCommunicator.h"
#include "comm/gloo/Mesh.h"
#include "comm/host/MessageRing.h"
#include "comm/local/LocalGroup.h"
#include "comm/tcp/BrokenPipeGuard.h"
#include "comm/tcp/PeerJoin.h"

namespace bloomery::comm {

namespace {

// Comes first, so that a mistake of the rendezvous is not taken for a dead peer.
struct AddressHeader {
  char magic[4] = {'B', 'L', 'M', '4'};
  int32_t rank = 0;
  int32_t size = 0;
};

// What a rank tells the others.
struct Address {
  AddressHeader header;
  MemoryPlace memory;
  SocketAddress socket;
};

Address readAddress(const std::string& text, int rank, int size) {
  AddressHeader expected{.rank = rank, .size = size};
  bool right = text.size() == sizeof(Address) && std::memcmp(text.data(), &expected, sizeof(expected)) == 0;
  check(right, "Not the address of rank ", rank, " of ", size, ": ", text.size(), " bytes");
  Address address;
  std::memcpy(&address, text.data(), sizeof(address));
  return address;
}

}  // namespace

struct GlooConnector::State {
  std::vector<Connection> join(const Credentials& credentials, const std::vector<Address>& addresses,
                               PeerJoin::Clock::time_point deadline, const Cancellation& cancellation, Log& log);
  // Each pair of ranks that can map each other's memory sends large messages through it from here on.
  void shareMemory(const std::vector<Address>& addresses, Communicator& communicator, Timeout left, Mesh& mesh);

  int rank;
  int size;
  Timeout timeout;
  std::optional<Listener> listener;  // none in a group of one and after connecting
  std::optional<RingMemory> memory;  // none where it is not shared, and after connecting
};

GlooConnector::GlooConnector(int rank, int size, const std::string& host, Timeout connectTimeout,
                             OnOneMachine onOneMachine)
    : state_(std::make_unique<State>(State{rank, size, connectTimeout, std::nullopt, std::nullopt})) {
  check(size > 0 && rank >= 0 && rank < size, "No such rank: ", rank, " of ", size);
  if (size > 1) state_->listener.emplace(host);
  if (size > 1 && onOneMachine == OnOneMachine::kShareMemory) state_->memory.emplace(size);
}

GlooConnector::~GlooConnector() = default;

std::string GlooConnector::address() {
  if (state_->size == 1) return {};
  check(state_->listener.has_value(), "Address was asked for after connecting");
  Address address{{.rank = state_->rank, .size = state_->size},
                  state_->memory ? state_->memory->place() : MemoryPlace{},
                  state_->listener->address()};
  return std::string(reinterpret_cast<const char*>(&address), sizeof(address));
}

std::vector<Connection> GlooConnector::State::join(const Credentials& credentials,
                                                   const std::vector<Address>& addresses,
                                                   PeerJoin::Clock::time_point deadline,
                                                   const Cancellation& cancellation, Log& log) {
  std::vector<SocketAddress> peers;
  for (const Address& address : addresses) peers.push_back(address.socket);
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

// A rank may be able to map a peer's memory that cannot map its; what each can, all of them tell each other.
void GlooConnector::State::shareMemory(const std::vector<Address>& addresses, Communicator& communicator, Timeout left,
                                       Mesh& mesh) {
  std::vector<std::optional<MessageRing>> rings(addresses.size());
  std::vector<float> maps(addresses.size() * addresses.size());  // [who maps, whose memory]
  auto mapsOf = [&](size_t who, size_t peer) -> float& { return maps[who * addresses.size() + peer]; };
  auto own = static_cast<size_t>(rank);
  for (size_t peer = 0; peer < addresses.size(); ++peer) {
    if (memory && peer != own) {
      rings[peer] = MessageRing::find(*memory, rank, static_cast<int>(peer), addresses[peer].memory);
    }
    mapsOf(own, peer) = rings[peer] ? 1 : 0;
  }
  communicator.allreduce(std::span(maps), left);
  for (size_t peer = 0; peer < addresses.size(); ++peer) {
    if (mapsOf(own, peer) * mapsOf(peer, own) == 0) rings[peer].reset();
  }
  mesh.share(std::move(rings));
  memory.reset();
}

std::unique_ptr<Communicator> GlooConnector::connect(const std::vector<std::string>& addressTexts,
                                                     const std::string& credentialsText,
                                                     const Cancellation& cancellation, Log& log) {
  State& state = *state_;
  check(static_cast<int>(addressTexts.size()) == state.size, "Wrong number of addresses: ", addressTexts.size());
  if (state.size == 1) return std::move(makeLocalGroup(1)[0]);
  check(state.listener.has_value(), "Connected twice");
  const auto deadline = Mesh::Clock::now() + state.timeout;
  Credentials credentials = Credentials::read(credentialsText, state.rank, state.size);
  std::vector<Address> addresses;
  for (const std::string& text : addressTexts) {
    addresses.push_back(readAddress(text, static_cast<int>(addresses.size()), state.size));
  }
  auto connections = state.join(credentials, addresses, deadline, cancellation, log);
  state.listener.reset();
  auto mesh = std::make_shared<Mesh>(state.rank, std::move(connections));
  auto communicator = std::make_unique<GlooCommunicator>(mesh);

  // A pair that both ends know of does not mean that the others have all of theirs: only who hears from everybody is
  // connected.
  mesh->setCancellation(&cancellation);
  auto left = [&] { return std::max(std::chrono::ceil<Timeout>(deadline - Mesh::Clock::now()), Timeout(0)); };
  try {
    auto ranks = communicator->allgather(static_cast<uint64_t>(state.rank), left());
    for (size_t i = 0; i < ranks.size(); ++i) check(ranks[i] == i, "Rank ", i, " says that it is rank ", ranks[i]);
    if (!credentials.tls) state.shareMemory(addresses, *communicator, left(), *mesh);
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
