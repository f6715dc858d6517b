#include "comm/gloo/GlooCommunicator.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>

#include <algorithm>
#include <new>

#include "base/Error.h"
#include "comm/tcp/BrokenPipeGuard.h"

namespace bloomery::comm {

namespace {

// From here on it pays to meet twice.
constexpr size_t kFewestShared = size_t{64} << 10;

// What Gloo's algorithms want to be given: a context around a transport.
class MeshContext : public gloo::Context {
 public:
  explicit MeshContext(std::shared_ptr<Mesh> mesh) : gloo::Context(mesh->rank, mesh->size) {
    transportContext_ = std::move(mesh);
  }
};

template <typename T>
void addValues(void* result, const void* a, const void* b, size_t count) {
  T* sums = static_cast<T*>(result);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i) sums[i] = left[i] + right[i];
}

template <HalfFormat format>
void addHalfValues(void* result, const void* a, const void* b, size_t count) {
  addHalves(format, simdLevel(), static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), count,
            static_cast<uint16_t*>(result));
}

}  // namespace

GlooCommunicator::GlooCommunicator(std::shared_ptr<Mesh> mesh)
    : mesh_(std::move(mesh)), context_(std::make_shared<MeshContext>(mesh_)) {}

template <typename Body>
void GlooCommunicator::run(const char* operation, size_t bytes, Timeout timeout, Body body) {
  Activity::Operation current(activity(), operation, bytes);
  auto what = [&] { return message(current.text(), " on rank ", rank(), " of ", size()); };
  BrokenPipeGuard guard;
  mesh_->setDeadline(Mesh::Clock::now() + timeout);
  try {
    body(++tag_);
  } catch (const std::exception& error) {
    if (mesh_->aborted()) throw Cancelled(message("Communication was aborted during ", what()));
    mesh_->close();
    auto loss = mesh_->firstLoss();
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
      throw ResourceError(message("Out of memory during ", what()));
    }
    std::string lost = loss ? message("rank ", loss->rank) : "another worker";
    throw PeerLost(message("Lost contact with ", lost, " during ", what(), ", timeout ", timeout.count(),
                           " ms: ", loss ? loss->reason : withoutSourcePlace(error.what())));
  }
}

// Only between processes that know each other by the same numbers, as those do that send each other messages through
// memory.
void GlooCommunicator::share(const Arena& values, Timeout timeout) {
  shared_.reset();
  uint64_t name = mesh_->sharesWithAll() ? SharedValues::nameOf(values) : 0;
  SharedValues mapped(values, rank(), allgather(name, timeout));
  std::vector<uint64_t> complete = allgather(mapped.complete() ? 1 : 0, timeout);
  if (std::ranges::count(complete, 0) == 0) shared_.emplace(std::move(mapped));
}

// A word to every rank, and from every rank.
void GlooCommunicator::meet(uint64_t slot) {
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
  char word = 0;
  std::vector<char> words(static_cast<size_t>(size()));
  std::vector<Buffer> out, in;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    in.push_back(mesh_->createUnboundBuffer(&words[static_cast<size_t>(peer)], 1));
    in.back()->recv(peer, slot, 0, 1);
    out.push_back(mesh_->createUnboundBuffer(&word, 1));
    out.back()->send(peer, slot, 0, 1);
  }
  for (Buffer& buffer : in) buffer->waitRecv();
  for (Buffer& buffer : out) buffer->waitSend();
}

void GlooCommunicator::sumShared(std::span<float> values, uint64_t slot) {
  meet(slot);
  size_t own = shared_->sumPart(values), peers = static_cast<size_t>(size()) - 1;
  mesh_->countSent((values.size() - own + own * peers) * sizeof(float));  // what others took, and sums for them
  meet(slot);
}

template <typename T>
void GlooCommunicator::sum(std::span<T> values, Timeout timeout) {
  run("allreduce", values.size_bytes(), timeout, [&](uint32_t tag) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(addValues<T>);
    options.setTag(tag);
    options.setMaxSegmentSize(SharedValues::kSegmentBytes);
    gloo::allreduce(options);
  });
}

void GlooCommunicator::allreduce(std::span<float> values, Timeout timeout) {
  if (!shared_ || values.size_bytes() < kFewestShared || !shared_->hold(values)) return sum(values, timeout);
  run("allreduce", values.size_bytes(), timeout, [&](uint32_t tag) { sumShared(values, tag); });
}

void GlooCommunicator::allreduce(std::span<double> values, Timeout timeout) { sum(values, timeout); }

void GlooCommunicator::allreduceHalves(std::span<uint16_t> values, HalfFormat format, Timeout timeout) {
  run("allreduce", values.size_bytes(), timeout, [&](uint32_t tag) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(format == HalfFormat::kFp16 ? addHalfValues<HalfFormat::kFp16>
                                                          : addHalfValues<HalfFormat::kBf16>);
    options.setTag(tag);
    gloo::allreduce(options);
  });
}

std::vector<uint64_t> GlooCommunicator::allgather(uint64_t value, Timeout timeout) {
  std::vector<uint64_t> values(static_cast<size_t>(size()));
  values[static_cast<size_t>(rank())] = value;
  run("allgather", values.size() * sizeof(uint64_t), timeout, [&](uint32_t tag) {
    gloo::AllgatherOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setTag(tag);
    gloo::allgather(options);
  });
  return values;
}

void GlooCommunicator::broadcast(std::span<std::byte> bytes, int root, Timeout timeout) {
  check(root >= 0 && root < size(), "No such rank: ", root, " of ", size());
  run("broadcast", bytes.size(), timeout, [&](uint32_t tag) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(reinterpret_cast<char*>(bytes.data()), bytes.size());
    options.setRoot(root);
    options.setTag(tag);
    gloo::broadcast(options);
  });
}

}  // namespace bloomery::comm
