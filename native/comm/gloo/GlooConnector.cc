#include "comm/gloo/GlooConnector.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/Error.h"
#include "base/NamedThread.h"
#include "comm/gloo/BrokenPipeGuard.h"
#include "comm/gloo/GlooCommunicator.h"
#include "comm/gloo/Mesh.h"
#include "comm/local/LocalGroup.h"
#include "comm/tcp/PeerJoin.h"

namespace bloomery::comm {

namespace {

namespace tcp = gloo::transport::tcp;

// A cancellation does not notify, so the wait looks at it this often.
constexpr auto kCancellationInterval = std::chrono::milliseconds(20);

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

// Gloo's pairs listen before they are given their connections: where nobody but this machine could see it.
std::shared_ptr<tcp::Device> makeDevice() {
  std::shared_ptr<tcp::Device> device;
  std::string failure;
  // The transport's thread takes over the name and the signal mask of the thread that makes it.
  namedThread("bloomery-gloo", [&] {
    BrokenPipeGuard guard;
    for (const char* host : {"127.0.0.1", "::1"}) {
      try {
        device = std::make_shared<tcp::Device>(tcp::CreateDeviceAttr(tcp::attr(host)));
        return;
      } catch (const std::exception& error) {
        failure = withoutSourcePlace(error.what());
      }
    }
  }).join();
  if (device == nullptr) throw ResourceError(message("Cannot start the transport between workers: ", failure));
  return device;
}

// A pair that both ends know of does not mean that the others have all of theirs: only who hears from everybody is
// connected. On a thread of its own, because Gloo's part can be interrupted only by closing.
class Roll {
 public:
  Roll(Communicator& communicator, Timeout left) {
    thread_ = namedThread("bloomery-join", [this, &communicator, left] { call(communicator, left); });
  }
  ~Roll() {
    if (thread_.joinable()) thread_.join();
  }

  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return done_; });
  }
  // What failed, or nothing.
  std::exception_ptr finish() {
    thread_.join();
    return error_;
  }

 private:
  void call(Communicator& communicator, Timeout left) {
    std::exception_ptr error;
    try {
      BrokenPipeGuard guard;
      auto ranks = communicator.allgather(static_cast<uint64_t>(communicator.rank()), left);
      for (size_t i = 0; i < ranks.size(); ++i) check(ranks[i] == i, "Rank ", i, " says that it is rank ", ranks[i]);
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    error_ = error;
    done_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

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
    throw PeerLost(message("Cannot connect to rank ", gone.peer(), " on rank ", rank, " of ", size, ": ", gone.what()));
  } catch (const PeerLost&) {
    std::string refusal = join.lastRefusal(join.awaited());
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
  auto mesh = std::make_shared<Mesh>(makeDevice(), state.rank, state.size);
  mesh->adopt(std::move(connections));
  auto communicator = std::make_unique<GlooCommunicator>(mesh);

  // Whoever waits here keeps the deadline, and aborts the roll when it has passed.
  constexpr auto kLonger = std::chrono::seconds(1);
  Roll roll(*communicator, std::chrono::duration_cast<Timeout>(deadline - Mesh::Clock::now() + kLonger));
  bool inTime = false;
  do inTime = roll.wait(kCancellationInterval);
  while (!inTime && !cancellation.cancelled() && Mesh::Clock::now() < deadline);
  if (!inTime) mesh->abort();
  std::exception_ptr error = roll.finish();
  if (inTime && error == nullptr) return communicator;
  cancellation.throwIfCancelled();
  if (inTime) std::rethrow_exception(error);
  throw PeerLost(message("Not connected within ", state.timeout.count(), " ms: other workers lack each other, on rank ",
                         state.rank, " of ", state.size));
}

}  // namespace bloomery::comm
