// Vectors of 512 bits are wanted here whatever the compiler thinks of them in general.
#define BLOOMERY_TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
#define BLOOMERY_LANES 16
#include "nn/kernels/WinogradLevel.h"

namespace bloomery::nn {

const WinogradPieces& winogradPiecesAvx512() { return kPieces; }

}  // namespace bloomery::nn
