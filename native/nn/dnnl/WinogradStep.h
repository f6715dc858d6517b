// A convolution whose passes are our own kernels: kernels/Winograd.h.
#pragma once

#include <memory>

#include "nn/dnnl/PlanBuilder.h"
#include "nn/kernels/Winograd.h"

namespace bloomery::nn {

struct WinogradPlan {
  WinogradConvolution shape;
  Edge input, output;
  bool relu = false;
  dnnl::memory kernel = {};
  dnnl::memory bias = {};                               // or empty
  dnnl::memory scale = {}, shift = {};                  // of a folded batch normalization, or empty
  dnnl::memory kernelGradient = {}, biasGradient = {};  // empty where they are not wanted
};

std::unique_ptr<Step> makeWinogradStep(WinogradPlan plan, PlanBuilder& builder);

}  // namespace bloomery::nn
