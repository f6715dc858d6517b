#include "comm/gloo/Mesh.h"

#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>

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
  // On the transport's thread: the base class listens at a port, which is closed before an event can come to it.
  MeshPair(Mesh& mesh, tcp::Device* device, int peer, std::chrono::milliseconds timeout, Connection connection)
      : tcp::Pair(&mesh, device, peer, timeout), mesh_(mesh), tls_(std::move(connection.tls)) {
    std::lock_guard lock(m_);
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = connection.socket.release();
    handleConnected();
  }

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
  bool read() override { return tls_ == nullptr ? tcp::Pair::read() : readEncrypted(); }
  bool write(tcp::Op& operation) override {
    return tls_ == nullptr ? tcp::Pair::write(operation) : writeEncrypted(operation);
  }

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
  // As the base class does it, with TLS in place of the socket; so are the results: true when the operation is done,
  // false when the socket has to be waited for or the pair has failed.
  bool readEncrypted() {
    if (state_ == CLOSED) return false;
    gloo::NonOwningPtr<tcp::UnboundBuffer> buffer;
    iovec piece;
    ssize_t missing = 0;
    while ((missing = prepareRead(rx_, buffer, piece)) > 0) {
      auto result = tls_->read(piece.iov_base, piece.iov_len);
      if (result.status != TlsSession::Status::kDone) {
        fail(result.status, TlsSession::Status::kWantsToRead);
        return false;
      }
      rx_.nread += result.bytes;
    }
    if (missing < 0) return false;
    readComplete(buffer);
    return true;
  }

  bool writeEncrypted(tcp::Op& operation) {
    if (state_ == CLOSED) return false;
    gloo::NonOwningPtr<tcp::UnboundBuffer> buffer;
    const auto kind = operation.getOpcode();
    if (kind == tcp::Op::SEND_UNBOUND_BUFFER) {
      buffer = gloo::NonOwningPtr<tcp::UnboundBuffer>(operation.ubuf);
      if (!buffer) return false;
    }
    while (operation.nwritten < operation.preamble.nbytes) {
      iovec pieces[2];
      int numPieces = 0;
      prepareWrite(operation, buffer, pieces, numPieces);
      auto result = tls_->write(pieces[0].iov_base, pieces[0].iov_len);
      if (result.status != TlsSession::Status::kDone) {
        // A peer that is gone is told of by the next read, after what it sent before.
        if (result.status != TlsSession::Status::kReset) fail(result.status, TlsSession::Status::kWantsToWrite);
        return false;
      }
      operation.nwritten += result.bytes;
    }
    writeComplete(operation, buffer, kind);
    return true;
  }

  void fail(TlsSession::Status status, TlsSession::Status waits) {
    if (status == waits) return;
    switch (status) {
      case TlsSession::Status::kClosed:
        return signalException("Connection closed by peer");
      case TlsSession::Status::kReset:
        return signalException(std::strerror(ECONNRESET));
      case TlsSession::Status::kFailed:
        return signalException(tls_->reason());
      default:
        return signalException("TLS cannot go on");
    }
  }

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

  std::string peerAddress() const { return SocketAddress{peer_.getSockaddr()}.text(); }

  void resetOnClose() const {
    linger atOnce = {.l_onoff = 1, .l_linger = 0};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &atOnce, sizeof(atOnce));
  }

  Mesh& mesh_;  // owns this pair
  const std::unique_ptr<TlsSession> tls_;
};

// Runs a function on the transport's thread, between events, and waits for it.
class OnTransportThread : public tcp::Handler {
 public:
  OnTransportThread(tcp::Device& device, std::function<void()> body) : device_(device), body_(std::move(body)) {
    Socket signal(eventfd(1, EFD_CLOEXEC));
    check(signal.open(), "No descriptor is left: ", std::strerror(errno));
    descriptor_ = signal.descriptor();
    device_.registerDescriptor(descriptor_, EPOLLIN, this);
    done_->get_future().get();
  }

  void handleEvents(int) override {
    std::exception_ptr error;
    try {
      body_();
    } catch (...) {
      error = std::current_exception();
    }
    device_.unregisterDescriptor(descriptor_, this);
    auto done = done_;  // this object may go as soon as it is told
    error == nullptr ? done->set_value() : done->set_exception(error);
  }

 private:
  tcp::Device& device_;
  std::function<void()> body_;
  int descriptor_ = -1;
  std::shared_ptr<std::promise<void>> done_ = std::make_shared<std::promise<void>>();
};

}  // namespace

Mesh::Mesh(std::shared_ptr<tcp::Device> device, int ownRank, int numRanks)
    : tcp::Context(std::move(device), ownRank, numRanks) {
  setTimeout(std::chrono::hours(1));  // of the transport itself; every wait of ours ends earlier
}

// The pairs tell this object of their end, so they go first.
Mesh::~Mesh() { pairs_.clear(); }

void Mesh::adopt(std::vector<Connection> connections) {
  check(static_cast<int>(connections.size()) == size, "Wrong number of connections: ", connections.size());
  OnTransportThread(*device_, [&] {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      auto index = static_cast<size_t>(peer);
      pairs_[index] =
          std::make_unique<MeshPair>(*this, device_.get(), peer, getTimeout(), std::move(connections[index]));
    }
  });
}

std::unique_ptr<gloo::transport::UnboundBuffer> Mesh::createUnboundBuffer(void* data, size_t bytes) {
  return std::make_unique<MeshBuffer>(std::static_pointer_cast<Mesh>(shared_from_this()), data, bytes);
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
