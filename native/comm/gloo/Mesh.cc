#include "comm/gloo/Mesh.h"

#include <gloo/common/error.h>
#include <gloo/transport/address.h>
#include <gloo/transport/buffer.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

// A cancellation does not notify, so a wait looks at it this often.
constexpr auto kCancellationInterval = std::chrono::milliseconds(20);

// Gloo's algorithms look whether there is a pair for a peer, and use buffers for everything else.
class Neighbour final : public gloo::transport::Pair {
 public:
  const gloo::transport::Address& address() const override { unused(); }
  void connect(const std::vector<char>&) override { unused(); }
  void close() override {}
  void setSync(bool, bool) override { unused(); }
  std::unique_ptr<gloo::transport::Buffer> createSendBuffer(int, void*, size_t) override { unused(); }
  std::unique_ptr<gloo::transport::Buffer> createRecvBuffer(int, void*, size_t) override { unused(); }
  void send(gloo::transport::UnboundBuffer*, uint64_t, size_t, size_t) override { unused(); }
  void recv(gloo::transport::UnboundBuffer*, uint64_t, size_t, size_t) override { unused(); }

 private:
  [[noreturn]] static void unused() { throw InternalError("Pairs of ranks are not used by themselves"); }
};

}  // namespace

// One operation's view of memory.
class MeshBuffer final : public gloo::transport::UnboundBuffer {
 public:
  MeshBuffer(Mesh& mesh, void* data, size_t bytes) : gloo::transport::UnboundBuffer(data, bytes), mesh_(mesh) {}
  ~MeshBuffer() override {
    mesh_.forget(sent_);
    mesh_.forget(received_);
  }

  bool waitRecv(int* rank, std::chrono::milliseconds) override {
    mesh_.wait(received_, source_, "it sent nothing in time");
    if (rank != nullptr) *rank = source_;
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds) override {
    mesh_.wait(sent_, target_, "it took nothing in time");
    if (rank != nullptr) *rank = target_;
    return true;
  }
  void abortWaitRecv() override { mesh_.abort(); }
  void abortWaitSend() override { mesh_.abort(); }

  void send(int target, uint64_t slot, size_t offset, size_t bytes) override {
    target_ = target;
    mesh_.send(target, slot, part(offset, bytes), sent_);
  }
  void recv(int source, uint64_t slot, size_t offset, size_t bytes) override {
    source_ = source;
    mesh_.receive(source, slot, part(offset, bytes), received_);
  }
  void recv(std::vector<int>, uint64_t, size_t, size_t) override {
    throw InternalError("A message from any rank is not waited for");
  }

 private:
  std::span<std::byte> part(size_t offset, size_t bytes) const {
    check(offset <= size, "Offset out of range: ", offset, " of ", size);
    return {static_cast<std::byte*>(ptr) + offset, std::min(bytes, size - offset)};
  }

  Mesh& mesh_;  // of the context that every operation has
  int source_ = -1;
  int target_ = -1;
  int sent_ = 0;  // done, and not waited for yet
  int received_ = 0;
};

Mesh::Mesh(int ownRank, std::vector<Connection> connections)
    : gloo::transport::Context(ownRank, static_cast<int>(connections.size())),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      streams_(connections.size()),
      polled_(connections.size() + 1) {
  check(wake_.open(), "No descriptor is left: ", std::strerror(errno));
  for (size_t peer = 0; peer < connections.size(); ++peer) {
    pairs_[peer] = std::make_unique<Neighbour>();
    if (static_cast<int>(peer) != rank) streams_[peer].emplace(std::move(connections[peer]));
  }
}

void Mesh::share(std::vector<std::optional<MessageRing>> rings) {
  std::lock_guard lock(streamsMutex_);
  for (size_t peer = 0; peer < rings.size(); ++peer) {
    if (!rings[peer]) continue;
    streamOf(static_cast<int>(peer)).share(std::move(*rings[peer]));
    ++numRings_;
  }
}

std::unique_ptr<gloo::transport::Pair>& Mesh::createPair(int peer) { return getPair(peer); }

std::unique_ptr<gloo::transport::UnboundBuffer> Mesh::createUnboundBuffer(void* data, size_t bytes) {
  return std::make_unique<MeshBuffer>(*this, data, bytes);
}

MessageStream& Mesh::streamOf(int peer) {
  check(peer >= 0 && peer < size && peer != rank, "No such peer: ", peer, " of ", size);
  return *streams_[static_cast<size_t>(peer)];
}

template <typename Body>
void Mesh::guard(int peer, Body body) {
  if (closed_) throwLoss();
  try {
    body(streamOf(peer));
  } catch (const StreamEnded& end) {
    lose(peer, message(end.what(), ", address ", streamOf(peer).peerAddress()));
    throwLoss();
  }
}

// What the socket takes is on its way before anybody waits.
void Mesh::send(int peer, uint64_t slot, std::span<const std::byte> bytes, int& done) {
  std::lock_guard lock(streamsMutex_);
  bytesSent_ += static_cast<int64_t>(bytes.size());
  guard(peer, [&](MessageStream& stream) {
    stream.send(slot, bytes, done);
    stream.advance();
  });
}

void Mesh::receive(int peer, uint64_t slot, std::span<std::byte> bytes, int& done) {
  std::lock_guard lock(streamsMutex_);
  guard(peer, [&](MessageStream& stream) { stream.receive(slot, bytes, done); });
}

void Mesh::wait(int& done, int peer, const char* complaint) {
  std::unique_lock lock(streamsMutex_);
  while (done == 0) {
    for (int other = 0; other < size && done == 0; ++other) {
      if (other != rank) guard(other, [](MessageStream& stream) { stream.advance(); });
    }
    if (done > 0) break;
    if (Clock::now() >= deadline_) {
      lose(peer, complaint);
      throwLoss();
    }
    poll(deadline_, lock);
  }
  --done;
}

void Mesh::poll(Clock::time_point deadline, std::unique_lock<std::mutex>& lock) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    polled_[i] = streams_[i] ? pollfd{streams_[i]->descriptor(), streams_[i]->events(), 0} : pollfd{-1, 0, 0};
  }
  polled_.back() = {wake_.descriptor(), POLLIN, 0};
  auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::min(deadline - Clock::now(), Clock::duration(std::chrono::hours(1))));
  if (cancellation_ != nullptr) left = std::min<std::chrono::milliseconds>(left, kCancellationInterval);
  lock.unlock();
  ::poll(polled_.data(), polled_.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
  lock.lock();
  if (cancellation_ != nullptr && cancellation_->cancelled()) {
    aborted_ = true;
    closeAll();
  }
  if (closed_) throwLoss();
  // A connection that nobody waits for may have been reset by a peer that lost another one.
  for (int other = 0; other < size; ++other) {
    const pollfd& one = polled_[static_cast<size_t>(other)];
    if (one.events == 0 && (one.revents & (POLLERR | POLLHUP)) != 0) {
      guard(other, [](MessageStream& stream) { stream.throwError(); });
    }
  }
}

// Whoever gives up an operation leaves its peers in the middle of it.
void Mesh::forget(const int& done) {
  std::lock_guard lock(streamsMutex_);
  bool underWay = std::ranges::any_of(streams_, [&](const auto& stream) { return stream && stream->concerns(done); });
  if (underWay) closeAll();
}

void Mesh::close() {
  std::lock_guard lock(streamsMutex_);
  closeAll();
}

void Mesh::abort() {
  aborted_ = true;
  close();
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_.descriptor(), &one, sizeof(one));
}

void Mesh::lose(int peer, const std::string& reason) {
  if (!loss_) loss_ = Loss{peer, reason};
  closeAll();
}

void Mesh::closeAll() {
  closed_ = true;
  for (auto& stream : streams_) {
    if (stream) stream->close(true);
  }
}

void Mesh::throwLoss() const { throw gloo::IoException(loss_ ? loss_->reason : "Connection was given up"); }

std::optional<Mesh::Loss> Mesh::firstLoss() const {
  std::lock_guard lock(streamsMutex_);
  return loss_;
}

std::string withoutSourcePlace(const std::string& text) {
  size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace bloomery::comm
