#define BLOOMERY_TARGET __attribute__((target("avx2,fma")))
#define BLOOMERY_LANES 8
#include "nn/kernels/WinogradLevel.h"

namespace bloomery::nn {

const WinogradPieces& winogradPiecesAvx2() { return kPieces; }

}  // namespace bloomery::nn
