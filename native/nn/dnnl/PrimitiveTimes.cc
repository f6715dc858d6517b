#include "nn/dnnl/PrimitiveTimes.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <vector>

#include "nn/dnnl/CpuEngine.h"
#include "nn/dnnl/Geometry.h"
#include "nn/dnnl/Operation.h"
#include "tensor/Arena.h"

namespace bloomery::nn {

namespace {

using Clock = std::chrono::steady_clock;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

constexpr int kRuns = 3;
constexpr Tag kTags[] = {Tag::any, Tag::undef};  // undef: plain, of whatever rank

struct Variant {
  Operation operation;
  std::vector<double> seconds = {};
};

// One primitive that the network runs `count` times a step.
struct Entry {
  std::vector<Variant> variants = {};
  int64_t count = 0;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

struct PrimitiveTimes::Yard {
  Yard(int64_t batchSize, bool wantsTraining) : batch(batchSize), training(wantsTraining) {}

  // All primitives share one piece of memory for each argument, as large as the largest wants it.
  dnnl::memory shared(int argument, const Desc& desc) {
    dnnl::memory memory(desc, engine, DNNL_MEMORY_NONE);
    memories[argument].push_back(memory);
    return memory;
  }

  template <typename PrimitiveDesc>
  void add(Entry& entry, const PrimitiveDesc& desc, std::vector<std::pair<int, Desc>> given) {
    given.emplace_back(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    Arguments arguments;
    for (const auto& [argument, memory] : given) {
      if (memory.get_size() > 0) arguments.emplace_back(argument, shared(argument, memory));
    }
    entry.variants.push_back({Operation(dnnl::primitive(desc.get()), std::move(arguments))});
  }

  void allocate() {
    for (auto& [argument, users] : memories) {
      size_t bytes = 0;
      for (const dnnl::memory& memory : users) bytes = std::max(bytes, memory.get_desc().get_size());
      arenas.push_back(std::make_unique<Arena>((bytes + sizeof(float) - 1) / sizeof(float)));
      std::span<float> values = arenas.back()->all();
      for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i % 97);
      for (dnnl::memory& memory : users) memory.set_data_handle(values.data());
    }
  }

  dnnl::primitive_attr attributes() const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }

  // Entries of equal key are the same primitive; the key is whatever tells them apart.
  Entry* fresh(std::vector<int64_t> key, int64_t count = 1) {
    Entry& entry = entries[std::move(key)];
    entry.count += count;
    return entry.variants.empty() ? &entry : nullptr;
  }

  void convolution(const network::Convolution& layer, const network::Node& node, bool wantsInputGradient);
  void product(int64_t rows, int64_t inputs, int64_t units, bool forward, bool inputGradient, bool weightGradient,
               int64_t count = 1);

  int64_t batch;
  bool training;
  dnnl::engine engine = cpuEngine();
  dnnl::stream stream{engine};
  std::map<std::vector<int64_t>, Entry> entries;
  std::map<int, std::vector<dnnl::memory>> memories;
  std::vector<std::unique_ptr<Arena>> arenas;
};

void PrimitiveTimes::Yard::convolution(const network::Convolution& layer, const network::Node& node,
                                       bool wantsInputGradient) {
  Shape image = network::imageOf(node.input), output = network::imageOf(node.output);
  ConvolutionGeometry geometry = geometryOf(layer, image);
  int64_t groups = layer.groupsFor(image[2]);
  Dims from = {batch, image[2], image[0], image[1]}, to = {batch, output[2], output[0], output[1]};
  Dims kernel = {output[2] / groups, image[2] / groups, layer.kernelSize.first, layer.kernelSize.second};
  if (groups > 1) kernel.insert(kernel.begin(), groups);
  std::vector<int64_t> key = {groups};
  for (const Dims& part : {from, to, kernel, geometry.strides, geometry.dilation, geometry.paddingBefore}) {
    key.insert(key.end(), part.begin(), part.end());
  }
  auto keyOf = [&](int64_t pass) {
    std::vector<int64_t> own = key;
    own.push_back(pass);
    return own;
  };
  Entry* forward = fresh(keyOf(0));
  Entry* weightGradient = training ? fresh(keyOf(1)) : nullptr;
  Entry* inputGradient = training && wantsInputGradient ? fresh(keyOf(2)) : nullptr;
  for (Tag wanted : kTags) {
    Tag tag = wanted == Tag::any ? Tag::any : Tag::nhwc;
    Desc source(from, DataType::f32, tag), result(to, DataType::f32, tag), weights(kernel, DataType::f32, Tag::any);
    dnnl::convolution_forward::primitive_desc hint(
        engine, training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
        dnnl::algorithm::convolution_direct, source, weights, result, geometry.strides, geometry.dilation,
        geometry.paddingBefore, geometry.paddingAfter, attributes());
    if (forward != nullptr) {
      add(*forward, hint,
          {{DNNL_ARG_SRC, hint.src_desc()}, {DNNL_ARG_WEIGHTS, hint.weights_desc()}, {DNNL_ARG_DST, hint.dst_desc()}});
    }
    if (weightGradient != nullptr) {
      dnnl::convolution_backward_weights::primitive_desc desc(
          engine, dnnl::algorithm::convolution_direct, source, weights, result, geometry.strides, geometry.dilation,
          geometry.paddingBefore, geometry.paddingAfter, hint, attributes());
      add(*weightGradient, desc,
          {{DNNL_ARG_SRC, desc.src_desc()},
           {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()},
           {DNNL_ARG_DIFF_DST, desc.diff_dst_desc()}});
    }
    if (inputGradient != nullptr) {
      dnnl::convolution_backward_data::primitive_desc desc(
          engine, dnnl::algorithm::convolution_direct, source, weights, result, geometry.strides, geometry.dilation,
          geometry.paddingBefore, geometry.paddingAfter, hint, attributes());
      add(*inputGradient, desc,
          {{DNNL_ARG_DIFF_SRC, desc.diff_src_desc()},
           {DNNL_ARG_WEIGHTS, desc.weights_desc()},
           {DNNL_ARG_DIFF_DST, desc.diff_dst_desc()}});
    }
  }
}

// [rows, inputs] x [inputs, units]
void PrimitiveTimes::Yard::product(int64_t rows, int64_t inputs, int64_t units, bool forward, bool inputGradient,
                                   bool weightGradient, int64_t count) {
  Entry* forwards = forward ? fresh({rows, inputs, units, 0}, count) : nullptr;
  Entry* inputGradients = inputGradient && training ? fresh({rows, inputs, units, 1}, count) : nullptr;
  Entry* weightGradients = weightGradient && training ? fresh({rows, inputs, units, 2}, count) : nullptr;
  for (Tag wanted : kTags) {
    Tag tag = wanted == Tag::any ? Tag::any : Tag::ab;
    Desc source({rows, inputs}, DataType::f32, tag), result({rows, units}, DataType::f32, tag);
    Desc weights({units, inputs}, DataType::f32, wanted == Tag::any ? Tag::any : Tag::ba);
    dnnl::inner_product_forward::primitive_desc hint(
        engine, training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, source, weights,
        result, attributes());
    if (forwards != nullptr) {
      add(*forwards, hint,
          {{DNNL_ARG_SRC, hint.src_desc()}, {DNNL_ARG_WEIGHTS, hint.weights_desc()}, {DNNL_ARG_DST, hint.dst_desc()}});
    }
    if (inputGradients != nullptr) {
      dnnl::inner_product_backward_data::primitive_desc desc(engine, source, weights, result, hint, attributes());
      add(*inputGradients, desc,
          {{DNNL_ARG_DIFF_SRC, desc.diff_src_desc()},
           {DNNL_ARG_WEIGHTS, desc.weights_desc()},
           {DNNL_ARG_DIFF_DST, desc.diff_dst_desc()}});
    }
    if (weightGradients != nullptr) {
      dnnl::inner_product_backward_weights::primitive_desc desc(engine, source, weights, result, hint, attributes());
      add(*weightGradients, desc,
          {{DNNL_ARG_SRC, desc.src_desc()},
           {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()},
           {DNNL_ARG_DIFF_DST, desc.diff_dst_desc()}});
    }
  }
}

PrimitiveTimes::PrimitiveTimes(const network::Graph& graph, int64_t batchSize, bool training)
    : yard_(std::make_unique<Yard>(batchSize, training)) {
  // A gradient is wanted by every layer that has a trained one before it.
  std::vector<bool> hasGradient(graph.nodes().size(), false);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const network::Node& node = graph.nodes()[i];
    bool before = false;
    for (size_t input : node.inputs) before = before || hasGradient[input];
    hasGradient[i] = before || node.numParameters > 0;
    if (const auto* layer = std::get_if<network::Convolution>(&node.layer)) {
      yard_->convolution(*layer, node, before);
    } else if (const auto* dense = std::get_if<network::Dense>(&node.layer)) {
      int64_t inputs = node.input.extents().back();
      yard_->product(batchSize * (node.input.numElements() / inputs), inputs, dense->units, true, before, true);
    } else if (const auto* cell = std::get_if<network::Recurrent>(&node.layer)) {
      int64_t steps = node.input[0], width = cell->numGates() * cell->units, directions = cell->bidirectional ? 2 : 1;
      int64_t filled = std::max<int64_t>(1, batchSize * (steps + 1) / 2);
      yard_->product(filled, node.input[1], width, true, before, true, directions);
      yard_->product(std::max<int64_t>(1, filled / steps), cell->units, width, true, true, false, steps * directions);
      yard_->product(filled, cell->units, width, false, false, true, directions);
    }
  }
  yard_->allocate();
}

PrimitiveTimes::~PrimitiveTimes() = default;

void PrimitiveTimes::measure() {
  for (auto& [key, entry] : yard_->entries) {
    for (Variant& variant : entry.variants) {
      variant.operation.run(yard_->stream);
      for (int i = 0; i < kRuns; ++i) {
        Clock::time_point start = Clock::now();
        variant.operation.run(yard_->stream);
        variant.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      }
    }
  }
}

double PrimitiveTimes::seconds() const {
  double sum = 0;
  for (const auto& [key, entry] : yard_->entries) {
    double fastest = std::numeric_limits<double>::max();
    for (const Variant& variant : entry.variants) fastest = std::min(fastest, median(variant.seconds));
    sum += static_cast<double>(entry.count) * fastest;
  }
  return sum;
}

}  // namespace bloomery::nn
