// Runs reductions on a thread of its own in the order they were submitted, so that they can overlap with compute. The
// first failure is kept and rethrown by `wait`. Owns neither the communicator nor the memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/Trace.h"
#include "comm/Communicator.h"

namespace bloomery::comm {

// What takes more than one sum. Outlives its ticket.
class Reduction {
 public:
  virtual ~Reduction() = default;
  // On the comm thread.
  virtual void run(Communicator& communicator, Timeout timeout) = 0;
};

class CommThread {
 public:
  // timeout: of what is submitted till another is set.
  CommThread(Communicator& communicator, Timeout timeout, Trace& trace);
  ~CommThread();  // ends and joins the thread; call communicator.abort() first when a reduction may be stuck

  // Sums `values` over all ranks; they must stay untouched till they are waited for. Allocates nothing, and does
  // nothing at all where there is one rank. The ticket is for `wait`.
  // purpose: for messages and the trace.
  uint64_t submit(std::span<float> values, Purpose purpose = {});
  uint64_t submit(Reduction& reduction, Purpose purpose = {});
  void setTimeout(Timeout timeout);
  // Returns when the reduction with this ticket and all before it are done, or all that were submitted; rethrows the
  // first failure.
  void wait(uint64_t ticket);
  void wait();
  double takeSeconds();  // spent reducing since the last call

  int rank() const;
  int size() const;

 private:
  struct State;
  struct Job;
  uint64_t submit(const Job& job);
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::comm
