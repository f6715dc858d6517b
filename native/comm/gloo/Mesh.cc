#include "comm/gloo/Mesh.h"

#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>

#include "base/Error.h"

namespace bloomery::comm {

namespace tcp = gloo::transport::tcp;

constexpr const char* kGivenUp = "Connection was given up";  // by this rank: nobody is lost

// One operation's view of memory. The base class counts what is done; only the waits are ours.
class MeshBuffer : public tcp::UnboundBuffer {
 public:
  MeshBuffer(std::shared_ptr<Mesh> mesh, void* data, size_t bytes)
      : tcp::UnboundBuffer(mesh, data, bytes), mesh_(*mesh) {
    mesh_.enter(this);
  }
  ~MeshBuffer() override { mesh_.leave(this); }

  bool waitRecv(int* rank, std::chrono::milliseconds) override {
    wait(recvCv_, recvCompletions_, source_, "it sent nothing in time");
    if (rank != nullptr) *rank = recvRank_;
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds) override {
    wait(sendCv_, sendCompletions_, target_, "it took nothing in time");
    if (rank != nullptr) *rank = sendRank_;
    return true;
  }

  using tcp::UnboundBuffer::recv;
  void recv(int source, uint64_t slot, size_t offset, size_t bytes) override {
    source_ = source;
    tcp::UnboundBuffer::recv(source, slot, offset, bytes);
  }
  void send(int target, uint64_t slot, size_t offset, size_t bytes) override {
    target_ = target;
    mesh_.bytesSent_ += static_cast<int64_t>(std::min(bytes, size - offset));
    tcp::UnboundBuffer::send(target, slot, offset, bytes);
  }

  // Takes the base class, for a pair may hold a buffer on whose destruction the owner waits: then only that is left.
  static void fail(tcp::UnboundBuffer& buffer, const std::exception_ptr& reason) {
    auto signal = &MeshBuffer::signalException;
    (buffer.*signal)(reason);
  }

 private:
  void wait(std::condition_variable& changed, int& completions, int peer, const char* complaint) {
    std::unique_lock lock(m_);
    changed.wait_until(lock, mesh_.deadline(), [&] { return completions > 0 || ex_ != nullptr; });
    if (completions > 0) {
      --completions;
      return;
    }
    if (ex_ == nullptr) {
      mesh_.lose(peer, complaint);
      throw gloo::IoException(complaint);
    }
    std::rethrow_exception(ex_);
  }

  Mesh& mesh_;  // the base class shares in it
  int source_ = -1;
  int target_ = -1;
};

namespace {

// The connection with one peer; its functions run on the transport's thread and on the caller's, under its mutex.
class MeshPair : public tcp::Pair {
 public:
  MeshPair(Mesh& mesh, tcp::Device* device, int peer, std::chrono::milliseconds timeout)
      : tcp::Pair(&mesh, device, peer, timeout), mesh_(mesh) {}

  // Closes before the base class does, so that no event finds this object half gone.
  ~MeshPair() override {
    std::lock_guard lock(m_);
    if (state_ != CLOSED) tcp::Pair::changeState(CLOSED);
  }

  void handleEvents(int events) override {
    try {
      tcp::Pair::handleEvents(events);
    } catch (const std::exception& error) {
      // Whoever holds the mutex may be waiting for this very thread; then the event comes again.
      std::unique_lock lock(m_, std::try_to_lock);
      if (lock.owns_lock() && ex_ == nullptr) signalException(withoutSourcePlace(error.what()));
    }
  }

 protected:
  void changeState(state next) noexcept override {
    if (next == CLOSED && ex_ != nullptr) {
      tellMesh();
      wake(rx_.ubuf);
      for (const tcp::Op& sending : tx_) wake(sending.ubuf);
      resetOnClose();
    }
    tcp::Pair::changeState(next);
  }

 private:
  void wake(const gloo::WeakNonOwningPtr<tcp::UnboundBuffer>& buffer) const {
    gloo::NonOwningPtr<tcp::UnboundBuffer> alive(buffer);
    if (alive) MeshBuffer::fail(*alive.operator->(), ex_);
  }

  void tellMesh() const {
    try {
      std::rethrow_exception(ex_);
    } catch (const std::exception& error) {
      std::string reason = withoutSourcePlace(error.what());
      if (reason == kGivenUp) return;
      bool reset = reason.ends_with(std::strerror(ECONNRESET));
      if (reset) reason = "it reset the connection";
      if (reason.starts_with("Connection closed by peer")) reason = "it closed the connection";
      mesh_.lose(rank_, message(reason, ", address ", peerAddress()));
      if (reset) mesh_.wakeAll(ex_);
    }
  }

  std::string peerAddress() const {
    const sockaddr_storage& address = peer_.getSockaddr();
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int result = getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof(address), host, sizeof(host), port,
                             sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    return result == 0 ? message(host, ":", port) : "unknown";
  }

  void resetOnClose() const {
    linger atOnce = {.l_onoff = 1, .l_linger = 0};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &atOnce, sizeof(atOnce));
  }

  Mesh& mesh_;  // owns this pair
};

}  // namespace

Mesh::Mesh(std::shared_ptr<tcp::Device> device, int ownRank, int numRanks)
    : tcp::Context(std::move(device), ownRank, numRanks) {
  setTimeout(std::chrono::hours(1));  // of the transport itself; every wait of ours ends earlier
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) Mesh::createPair(peer);
  }
}

// The pairs tell this object of their end, so they go first.
Mesh::~Mesh() { pairs_.clear(); }

std::unique_ptr<gloo::transport::Pair>& Mesh::createPair(int peer) {
  auto& pair = pairs_[static_cast<size_t>(peer)];
  pair = std::make_unique<MeshPair>(*this, device_.get(), peer, getTimeout());
  return pair;
}

std::unique_ptr<gloo::transport::UnboundBuffer> Mesh::createUnboundBuffer(void* data, size_t bytes) {
  return std::make_unique<MeshBuffer>(std::static_pointer_cast<Mesh>(shared_from_this()), data, bytes);
}

std::vector<char> Mesh::addresses() {
  std::vector<char> all;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    std::vector<char> address = getPair(peer)->address().bytes();
    all.insert(all.end(), address.begin(), address.end());
  }
  return all;
}

void Mesh::connect(int peer, const std::vector<char>& addressesOfPeer) {
  auto length = static_cast<std::ptrdiff_t>(addressesOfPeer.size()) / (size - 1);
  auto first = addressesOfPeer.begin() + length * (rank > peer ? rank - 1 : rank);
  getPair(peer)->connect(std::vector<char>(first, first + length));
}

void Mesh::close() { signalException(kGivenUp); }

void Mesh::abort() {
  aborted_ = true;
  close();
}

void Mesh::lose(int peer, const std::string& reason) {
  std::lock_guard lock(lossMutex_);
  if (!loss_) loss_ = Loss{peer, reason};
}

std::optional<Mesh::Loss> Mesh::firstLoss() const {
  std::lock_guard lock(lossMutex_);
  return loss_;
}

void Mesh::enter(MeshBuffer* buffer) {
  std::lock_guard lock(buffersMutex_);
  if (doom_ != nullptr) std::rethrow_exception(doom_);
  buffers_.push_back(buffer);
}

void Mesh::leave(MeshBuffer* buffer) {
  std::lock_guard lock(buffersMutex_);
  std::erase(buffers_, buffer);
}

void Mesh::wakeAll(std::exception_ptr reason) {
  std::lock_guard lock(buffersMutex_);
  doom_ = reason;
  for (MeshBuffer* buffer : buffers_) MeshBuffer::fail(*buffer, reason);
}

std::string withoutSourcePlace(const std::string& text) {
  size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace bloomery::comm
