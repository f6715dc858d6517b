// Convolutions of 3x3 taps at stride 1 with a quarter of the multiplications: Winograd's F(4x4, 3x3). The output is cut
// into tiles of 4x4 pixels; a tile's input and the kernel are transformed to 36 points, at each of which the tiles
// of a group make one product of matrices over the channels, and the products are transformed back. The input gradient
// is the same with the kernel turned around, the weight gradient a sum over tiles of the same products. The values do
// not depend on the batch or the number of threads. Needs AVX2; uses AVX-512.
#pragma once

#include <cstdint>

#include "nn/kernels/WinogradPieces.h"

namespace bloomery::nn {

struct WinogradConvolution {
  int64_t batch = 0;
  int64_t height = 0, width = 0, channels = 0;  // of the image
  int64_t outputHeight = 0, outputWidth = 0, filters = 0;
  // Channels that lie side by side in the image and in the output: [batch, channels / block, height, width, block]. 8,
  // 16, or all of them for channels last; 0 for any other layout.
  int64_t block = 0, outputBlock = 0;
  int64_t paddingTop = 0, paddingLeft = 0;  // before the image; behind it as much as the last window needs
  int numThreads = 1;

  // Channels that are worked on together: 16, or 8 where there is no AVX-512 or a block does not split into 16; 0 where
  // there is no kernel.
  int64_t lanes() const;
  // There is a kernel for it on this machine, and the multiplications saved outweigh the transforms.
  bool pays() const;
  // The convolution of the output's gradient, with the flipped kernel, that is the gradient of the image.
  WinogradConvolution backward() const;
  // Floats of scratch memory for the convolution and for the gradient of its kernel.
  int64_t scratchSize() const;
  int64_t gradientScratchSize() const;
};

// kernel: [taps, channels, filters], or, flipped, [taps, filters, channels] with the taps in reverse.
void winogradConvolve(const WinogradConvolution& shape, const float* image, const float* kernel, bool flipped,
                      const WinogradEnding& ending, float* output, float* scratch);

// kernelGradient: [taps, channels, filters]; biasGradient: [filters] or null.
void winogradKernelGradient(const WinogradConvolution& shape, const float* image, const float* outputGradient,
                            float* kernelGradient, float* biasGradient, float* scratch);

}  // namespace bloomery::nn
