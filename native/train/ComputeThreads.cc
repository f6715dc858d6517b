#include "train/ComputeThreads.h"

#include <omp.h>

namespace bloomery::train {

void setComputeThreads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

}  // namespace bloomery::train
