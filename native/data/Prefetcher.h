// Assembles batches on a thread of its own, `depth` ahead, into buffers that are made once; further ahead after an
// epoch in which the compute thread, which takes them in order, had to wait. An exception on the prefetch thread is
// rethrown by `peek` once the batches before it are taken.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/Cancellation.h"
#include "base/Trace.h"
#include "data/Batcher.h"
#include "data/StepRows.h"

namespace bloomery::data {

struct PrefetchTimes {
  double assembleSeconds = 0;  // work of the prefetch thread
  double readSeconds = 0;      // spent reading rows from disk, on whichever thread
  double waitSeconds = 0;      // the compute thread had to wait
};

class Prefetcher {
 public:
  // Everything given by reference is borrowed. Steps tell of rows only that were published.
  Prefetcher(const RowStore& rows, int64_t batchSize, int depth, const Cancellation& cancellation, Trace& trace,
             ClassWeights classWeights = {});
  ~Prefetcher();  // ends and joins the thread

  // Starts assembling an epoch's steps. The one before must have been taken to its end.
  void startEpoch(std::unique_ptr<StepRows> steps);

  // The next batch without taking it, nullptr at the end of the epoch. Waits till it is assembled; throws Cancelled
  // within a fraction of a second when cancelled. The pointer is valid till `pop`.
  Batch* peek();
  // The batch after that one, likewise: what the header of the next step speaks of.
  Batch* peekSecond();
  // Both for whoever cannot wait long: nothing when it is not assembled in time.
  std::optional<Batch*> peekWithin(std::chrono::milliseconds patience);
  std::optional<Batch*> peekSecondWithin(std::chrono::milliseconds patience);
  // Gives the first batch's buffer back.
  void pop();

  PrefetchTimes takeTimes();  // since the last call

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::data
