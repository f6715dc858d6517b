// Gloo's own allreduce over its own TCP transport, without our deadlines, wake-ups and messages: the yardstick that the
// benchmarks hold GlooCommunicator against. Never part of a training. No Gloo type appears in this header.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bloomery::comm {

class PlainGloo {
 public:
  // Listens at once, as GlooConnector does.
  PlainGloo(int rank, int size, const std::string& host);
  ~PlainGloo();

  std::string address();
  // addresses by rank, this rank's included.
  void connect(const std::vector<std::string>& addresses);
  // Sums over all ranks, in place.
  void allreduce(std::span<float> values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::comm
