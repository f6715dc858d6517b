#include "train/ComputeThreads.h"

#include <immintrin.h>
#include <omp.h>

namespace bloomery::train {

void setComputeThreads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

void treatTinyNumbersAsZero() {
  // Those that enter a computation, and those that come out of it.
  constexpr unsigned kTinyIsZero = _MM_FLUSH_ZERO_ON | 0x0040;
#pragma omp parallel
  _mm_setcsr(_mm_getcsr() | kTinyIsZero);
}

}  // namespace bloomery::train
