// The collectives over a connected Mesh, by Gloo's own algorithms; sums of shared values by their own. Whatever fails
// in them is told as PeerLost, with the operation, this rank and the first rank that was lost; the mesh is dead
// afterwards.
#pragma once

#include <gloo/context.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "comm/Communicator.h"
#include "comm/gloo/Mesh.h"
#include "comm/host/SharedValues.h"

namespace bloomery::comm {

class GlooCommunicator : public Communicator {
 public:
  explicit GlooCommunicator(std::shared_ptr<Mesh> mesh);

  int rank() const override { return mesh_->rank; }
  int size() const override { return mesh_->size; }
  void allreduce(std::span<float> values, Timeout timeout) override;
  void allreduce(std::span<double> values, Timeout timeout) override;
  void allreduceHalves(std::span<uint16_t> values, HalfFormat format, Timeout timeout) override;
  std::vector<uint64_t> allgather(uint64_t value, Timeout timeout) override;
  void broadcast(std::span<std::byte> bytes, int root, Timeout timeout) override;
  void share(const Arena& values, Timeout timeout) override;
  int64_t bytesSent() const override { return mesh_->bytesSent(); }
  void abort() override { mesh_->abort(); }

 private:
  template <typename T>
  void sum(std::span<T> values, Timeout timeout);
  void sumShared(std::span<float> values, uint64_t slot);
  // Till all ranks have come here.
  void meet(uint64_t slot);
  // Calls body(tag) within the time, with a tag that no other operation has.
  template <typename Body>
  void run(const char* operation, size_t bytes, Timeout timeout, Body body);

  std::shared_ptr<Mesh> mesh_;  // shared with Gloo's context and buffers
  std::shared_ptr<gloo::Context> context_;
  std::optional<SharedValues> shared_;
  uint32_t tag_ = 0;
};

}  // namespace bloomery::comm
