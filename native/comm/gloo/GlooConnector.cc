#include "comm/gloo/GlooConnector.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/Error.h"
#include "base/NamedThread.h"
#include "comm/gloo/BrokenPipeGuard.h"
#include "comm/gloo/GlooCommunicator.h"
#include "comm/gloo/Mesh.h"
#include "comm/local/LocalGroup.h"

namespace bloomery::comm {

namespace {

namespace tcp = gloo::transport::tcp;

// A cancellation does not notify, so the wait looks at it this often.
constexpr auto kCancellationInterval = std::chrono::milliseconds(20);

// Comes before the addresses of a rank, so that a mistake of the rendezvous is not taken for a dead peer.
struct AddressHeader {
  char magic[4] = {'B', 'L', 'M', '1'};
  int32_t rank = 0;
  int32_t size = 0;
};

// Gloo would go on with a wild pointer when a name has no address, and leak when none can be bound, so both are tried
// before.
void checkHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int result = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (result != 0) {
    throw UserError(message("Host of this worker has no address: '", host, "': ", gai_strerror(result)));
  }
  bool bound = false;
  int reason = 0;
  for (addrinfo* one = found; one != nullptr && !bound; one = one->ai_next) {
    int descriptor = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    bound = descriptor >= 0 && bind(descriptor, one->ai_addr, one->ai_addrlen) == 0;
    if (!bound) reason = errno;
    if (descriptor >= 0) ::close(descriptor);
  }
  freeaddrinfo(found);
  if (!bound) {
    throw UserError(message("Cannot listen on this worker's host: '", host, "': ", std::strerror(reason),
                            "; give a name or address of this machine"));
  }
}

std::shared_ptr<tcp::Device> makeDevice(const std::string& host) {
  checkHost(host);
  std::shared_ptr<tcp::Device> device;
  std::string failure;
  // The transport's thread takes over the name and the signal mask of the thread that makes it.
  namedThread("bloomery-gloo", [&] {
    BrokenPipeGuard guard;
    try {
      device = std::make_shared<tcp::Device>(tcp::CreateDeviceAttr(tcp::attr(host.c_str())));
    } catch (const std::exception& error) {
      failure = withoutSourcePlace(error.what());
    }
  }).join();
  if (device == nullptr) throw ResourceError(message("Cannot listen on this worker's host: '", host, "': ", failure));
  return device;
}

// The work of connecting, on a thread of its own because Gloo's part of it cannot be interrupted but by closing.
struct Attempt {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int peer = -1;  // the one waited for
  std::exception_ptr error;
};

}  // namespace

struct GlooConnector::State {
  std::vector<char> addressesOf(int peer, const std::string& address) const;
  void connectAll(Attempt& attempt, const std::vector<std::string>& addresses, Communicator& communicator,
                  Mesh::Clock::time_point deadline) const;

  int rank;
  int size;
  Timeout timeout;
  std::shared_ptr<Mesh> mesh;  // shared with the communicator; null in a group of one and after connecting
};

GlooConnector::GlooConnector(int rank, int size, const std::string& host, Timeout connectTimeout)
    : state_(std::make_unique<State>(State{rank, size, connectTimeout, nullptr})) {
  check(size > 0 && rank >= 0 && rank < size, "No such rank: ", rank, " of ", size);
  if (size > 1) state_->mesh = std::make_shared<Mesh>(makeDevice(host), rank, size);
}

GlooConnector::~GlooConnector() = default;

std::string GlooConnector::address() {
  if (state_->size == 1) return {};
  check(state_->mesh != nullptr, "Address was asked for after connecting");
  AddressHeader header{.rank = state_->rank, .size = state_->size};
  std::vector<char> addresses = state_->mesh->addresses();
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)).append(addresses.data(), addresses.size());
}

std::vector<char> GlooConnector::State::addressesOf(int peer, const std::string& address) const {
  AddressHeader expected{.rank = peer, .size = size};
  bool right = address.size() == sizeof(expected) + mesh->addresses().size() &&
               std::memcmp(address.data(), &expected, sizeof(expected)) == 0;
  check(right, "Not the address of rank ", peer, " of ", size, ": ", address.size(), " bytes");
  return {address.begin() + sizeof(expected), address.end()};
}

void GlooConnector::State::connectAll(Attempt& attempt, const std::vector<std::string>& addresses,
                                      Communicator& communicator, Mesh::Clock::time_point deadline) const {
  BrokenPipeGuard guard;
  std::exception_ptr error;
  try {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      {
        std::lock_guard lock(attempt.mutex);
        attempt.peer = peer;
      }
      mesh->connect(peer, addressesOf(peer, addresses[static_cast<size_t>(peer)]));
    }
    // A connection that the kernel took is not yet one that the peer knows of: greet. Whoever waits for this thread
    // keeps the deadline, and aborts the greeting when it has passed.
    constexpr auto kLonger = std::chrono::seconds(1);
    auto left = std::chrono::duration_cast<Timeout>(deadline - Mesh::Clock::now() + kLonger);
    auto ranks = communicator.allgather(static_cast<uint64_t>(rank), left);
    for (size_t i = 0; i < ranks.size(); ++i) check(ranks[i] == i, "Rank ", i, " says that it is rank ", ranks[i]);
  } catch (...) {
    error = std::current_exception();
  }
  std::lock_guard lock(attempt.mutex);
  attempt.error = error;
  attempt.done = true;
  attempt.changed.notify_all();
}

std::unique_ptr<Communicator> GlooConnector::connect(const std::vector<std::string>& addresses,
                                                     const Cancellation& cancellation) {
  State& state = *state_;
  check(static_cast<int>(addresses.size()) == state.size, "Wrong number of addresses: ", addresses.size());
  if (state.size == 1) return std::move(makeLocalGroup(1)[0]);
  check(state.mesh != nullptr, "Connected twice");
  auto mesh = std::exchange(state.mesh, nullptr);
  auto communicator = std::make_unique<GlooCommunicator>(mesh);
  const auto deadline = Mesh::Clock::now() + state.timeout;
  Attempt attempt;
  State connecting{state.rank, state.size, state.timeout, mesh};
  std::thread thread =
      namedThread("bloomery-join", [&] { connecting.connectAll(attempt, addresses, *communicator, deadline); });
  bool inTime = false;
  {
    std::unique_lock lock(attempt.mutex);
    do inTime = attempt.changed.wait_for(lock, kCancellationInterval, [&] { return attempt.done; });
    while (!inTime && !cancellation.cancelled() && Mesh::Clock::now() < deadline);
  }
  if (!inTime) mesh->abort();
  thread.join();
  if (inTime && attempt.error == nullptr) return communicator;

  cancellation.throwIfCancelled();
  auto where = message("rank ", attempt.peer, " on rank ", state.rank, " of ", state.size);
  if (!inTime) throw PeerLost(message("Not connected within ", state.timeout.count(), " ms: waited for ", where));
  try {
    std::rethrow_exception(attempt.error);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw PeerLost(message("Cannot connect to ", where, ": ", withoutSourcePlace(error.what())));
  }
}

}  // namespace bloomery::comm
