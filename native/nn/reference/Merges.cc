#include <algorithm>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using How = network::Merge::How;

// visit(input, element of that input, element of the output)
template <typename Visit>
void forEachPart(const network::Merge& layer, const Site& site, Visit visit) {
  int64_t offset = 0, width = site.node.output.extents().back();
  for (size_t input = 0; input < site.inputs.size(); ++input) {
    int64_t own = site.inputShapes[input].extents().back(), size = site.batch * site.inputShapes[input].numElements();
    bool side = layer.how == How::kConcatenate;
    for (int64_t i = 0; i < size; ++i) visit(input, i, side ? i / own * width + offset + i % own : i);
    offset += own;
  }
}

}  // namespace

void forward(const network::Merge& layer, const Site& site) {
  std::fill_n(site.output, site.batch * site.node.output.numElements(), layer.how == How::kMultiply ? 1.0f : 0.0f);
  forEachPart(layer, site, [&](size_t input, int64_t element, int64_t output) {
    float value = site.inputs[input][element];
    site.output[output] = layer.how == How::kMultiply ? site.output[output] * value : site.output[output] + value;
  });
}

void backward(const network::Merge& layer, const Site& site) {
  forEachPart(layer, site, [&](size_t input, int64_t element, int64_t output) {
    double gradient = site.outputGradient[output];
    for (size_t other = 0; layer.how == How::kMultiply && other < site.inputs.size(); ++other) {
      if (other != input) gradient *= site.inputs[other][element];
    }
    site.inputGradients[input][element] = static_cast<float>(gradient);
  });
}

}  // namespace bloomery::nn::reference
