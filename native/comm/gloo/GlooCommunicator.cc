#include "comm/gloo/GlooCommunicator.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>

#include <new>

#include "base/Error.h"
#include "comm/tcp/BrokenPipeGuard.h"

namespace bloomery::comm {

namespace {

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

template <typename T>
void GlooCommunicator::sum(std::span<T> values, Timeout timeout) {
  run("allreduce", values.size_bytes(), timeout, [&](uint32_t tag) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(addValues<T>);
    options.setTag(tag);
    gloo::allreduce(options);
  });
}

void GlooCommunicator::allreduce(std::span<float> values, Timeout timeout) { sum(values, timeout); }

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
