#include "comm/gloo/PlainGloo.h"

#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

namespace tcp = gloo::transport::tcp;

class PlainContext : public gloo::Context {
 public:
  explicit PlainContext(std::shared_ptr<gloo::transport::Context> transport)
      : gloo::Context(transport->rank, transport->size) {
    transportContext_ = std::move(transport);
  }
};

}  // namespace

struct PlainGloo::State {
  std::shared_ptr<gloo::transport::Device> device;
  std::shared_ptr<gloo::transport::Context> transport;
  std::shared_ptr<gloo::Context> context;
  uint32_t tag = 0;
};

PlainGloo::PlainGloo(int rank, int size, const std::string& host) : state_(std::make_unique<State>()) {
  check(size > 1 && rank >= 0 && rank < size, "No such rank: ", rank, " of ", size);
  state_->device = tcp::CreateDevice(tcp::attr(host.c_str()));
  state_->transport = state_->device->createContext(rank, size);
  state_->transport->setTimeout(std::chrono::minutes(1));  // which has no value before
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) state_->transport->createPair(peer);
  }
  state_->context = std::make_shared<PlainContext>(state_->transport);
}

PlainGloo::~PlainGloo() = default;

std::string PlainGloo::address() {
  std::string all;
  for (int peer = 0; peer < state_->transport->size; ++peer) {
    if (peer == state_->transport->rank) continue;
    std::vector<char> one = state_->transport->getPair(peer)->address().bytes();
    all.append(one.data(), one.size());
  }
  return all;
}

void PlainGloo::connect(const std::vector<std::string>& addresses) {
  int rank = state_->transport->rank, size = state_->transport->size;
  check(static_cast<int>(addresses.size()) == size, "Wrong number of addresses: ", addresses.size());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const std::string& all = addresses[static_cast<size_t>(peer)];
    auto length = static_cast<std::ptrdiff_t>(all.size()) / (size - 1);
    auto first = all.begin() + length * (rank > peer ? rank - 1 : rank);
    state_->transport->getPair(peer)->connect(std::vector<char>(first, first + length));
  }
}

void PlainGloo::allreduce(std::span<float> values) {
  gloo::AllreduceOptions options(state_->context);
  options.setOutput(values.data(), values.size());
  void (*add)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
  options.setReduceFunction(add);
  options.setTag(++state_->tag);
  gloo::allreduce(options);
}

}  // namespace bloomery::comm
