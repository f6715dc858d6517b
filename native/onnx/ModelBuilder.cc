#include "onnx/ModelBuilder.h"

#include <algorithm>

#include "base/Error.h"

namespace bloomery::onnx {

namespace {

// Numbers of the fields, as onnx.proto has them.
namespace model {
enum { kIrVersion = 1, kProducerName = 2, kGraph = 7, kOpsetImport = 8 };
}
namespace opset {
enum { kVersion = 2 };
}
namespace graph {
enum { kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12 };
}
namespace node {
enum { kInput = 1, kOutput = 2, kName = 3, kOperator = 4, kAttribute = 5 };
}
namespace attribute {
enum { kName = 1, kFloat = 2, kInteger = 3, kIntegers = 8, kType = 20 };
enum Type { kFloatType = 1, kIntegerType = 2, kIntegersType = 7 };
}  // namespace attribute
namespace tensor {
enum { kExtents = 1, kElementType = 2, kName = 8, kBytes = 9 };
}
namespace value {
enum { kName = 1, kType = 2 };
enum { kTensorType = 1 };
enum { kElementType = 1, kShape = 2 };
enum { kExtent = 1 };
enum { kExtentValue = 1, kExtentName = 2 };
}  // namespace value

constexpr int64_t kIrVersion = 8;  // the one that came with the operators of kOpset

Message valueOf(const std::string& name, ElementType type, const Shape& shape) {
  Message extents, batch;
  batch.addBytes(value::kExtentName, "batch");
  extents.addMessage(value::kExtent, batch);
  for (int64_t extent : shape.extents()) {
    Message one;
    one.addNumber(value::kExtentValue, extent);
    extents.addMessage(value::kExtent, one);
  }
  Message tensorType, wholeType, result;
  tensorType.addNumber(value::kElementType, static_cast<int64_t>(type));
  tensorType.addMessage(value::kShape, extents);
  wholeType.addMessage(value::kTensorType, tensorType);
  result.addBytes(value::kName, name);
  result.addMessage(value::kType, wholeType);
  return result;
}

struct AttributeWriter {
  Message& message;

  void operator()(int64_t integer) const {
    message.addNumber(attribute::kInteger, integer);
    message.addNumber(attribute::kType, attribute::kIntegerType);
  }
  void operator()(float number) const {
    message.addFloat(attribute::kFloat, number);
    message.addNumber(attribute::kType, attribute::kFloatType);
  }
  void operator()(const std::vector<int64_t>& integers) const {
    for (int64_t integer : integers) message.addNumber(attribute::kIntegers, integer);
    message.addNumber(attribute::kType, attribute::kIntegersType);
  }
};

}  // namespace

ElementType elementTypeOf(DType type) {
  switch (type) {
    case DType::kFloat32:
      return ElementType::kFloat;
    case DType::kFloat64:
      return ElementType::kDouble;
    case DType::kUint8:
      return ElementType::kUint8;
    case DType::kInt8:
      return ElementType::kInt8;
    case DType::kInt16:
      return ElementType::kInt16;
    case DType::kInt32:
      return ElementType::kInt32;
    case DType::kInt64:
      return ElementType::kInt64;
  }
  throw InternalError(message("Unknown element type: ", static_cast<int>(type)));
}

ModelBuilder::ModelBuilder(const std::string& name, size_t maxBytes) : maxBytes_(maxBytes) {
  graph_.addBytes(graph::kName, name);
}

std::string ModelBuilder::unique(const std::string& wish) {
  std::string name = wish;
  for (int number = 1; !names_.insert(name).second; ++number) name = wish + "_" + std::to_string(number);
  return name;
}

std::string ModelBuilder::addInput(const std::string& name, DType type, const Shape& shape) {
  std::string own = unique(name);
  graph_.addMessage(graph::kInput, valueOf(own, elementTypeOf(type), shape));
  return own;
}

std::string ModelBuilder::addOutput(const std::string& name, const Shape& shape) {
  std::string own = unique(name);
  graph_.addMessage(graph::kOutput, valueOf(own, ElementType::kFloat, shape));
  return own;
}

std::string ModelBuilder::addFloats(const std::string& name, const Shape& shape, std::span<const float> values) {
  return addTensor(name, shape.extents(), ElementType::kFloat, std::as_bytes(values));
}

std::string ModelBuilder::addIntegers(const std::string& name, const std::vector<int64_t>& values) {
  return addTensor(name, {static_cast<int64_t>(values.size())}, ElementType::kInt64, std::as_bytes(std::span(values)));
}

std::string ModelBuilder::addInteger(const std::string& name, int64_t value) {
  return addTensor(name, {}, ElementType::kInt64, std::as_bytes(std::span(&value, 1)));
}

std::string ModelBuilder::addTensor(const std::string& name, const std::vector<int64_t>& extents, ElementType type,
                                    std::span<const std::byte> values) {
  // Checked before it is copied: the last one that does not fit may be large.
  if (values.size() > maxBytes_ - std::min(maxBytes_, graph_.bytes().size())) {
    throw UserError(message("Network is too large for an ONNX file, which holds 2 GiB: up to parameter ", name));
  }
  Message tensor;
  for (int64_t extent : extents) tensor.addNumber(tensor::kExtents, extent);
  tensor.addNumber(tensor::kElementType, static_cast<int64_t>(type));
  std::string own = unique(name);
  tensor.addBytes(tensor::kName, own);
  tensor.addBytes(tensor::kBytes, {reinterpret_cast<const char*>(values.data()), values.size()});
  graph_.addMessage(graph::kInitializer, tensor);
  return own;
}

std::string ModelBuilder::add(const std::string& layer, const std::string& kind, const Names& inputs,
                              const Attributes& attributes) {
  return addSeveral(layer, kind, inputs, 1, attributes)[0];
}

Names ModelBuilder::addSeveral(const std::string& layer, const std::string& kind, const Names& inputs,
                               size_t numOutputs, const Attributes& attributes) {
  Names outputs;
  for (size_t i = 0; i < numOutputs; ++i) outputs.push_back(unique(layer + "/" + kind));
  addNode(outputs[0], kind, inputs, outputs, attributes);
  return outputs;
}

void ModelBuilder::addInto(const std::string& output, const std::string& kind, const Names& inputs) {
  addNode(output + "/" + kind, kind, inputs, {output}, {});
}

void ModelBuilder::addNode(const std::string& name, const std::string& kind, const Names& inputs, const Names& outputs,
                           const Attributes& attributes) {
  Message node;
  for (const std::string& input : inputs) node.addBytes(node::kInput, input);
  for (const std::string& output : outputs) node.addBytes(node::kOutput, output);
  node.addBytes(node::kName, name);
  node.addBytes(node::kOperator, kind);
  for (const auto& [key, content] : attributes) {
    Message attribute;
    attribute.addBytes(attribute::kName, key);
    std::visit(AttributeWriter{attribute}, content);
    node.addMessage(node::kAttribute, attribute);
  }
  graph_.addMessage(graph::kNode, node);
}

std::string ModelBuilder::finish() {
  Message opset, whole;
  opset.addNumber(opset::kVersion, kOpset);
  whole.addNumber(model::kIrVersion, kIrVersion);
  whole.addBytes(model::kProducerName, "bloomery");
  whole.addMessage(model::kOpsetImport, opset);
  whole.addMessage(model::kGraph, graph_);
  graph_ = {};
  if (whole.bytes().size() > maxBytes_) {
    throw UserError("Network is too large for an ONNX file, which holds 2 GiB");
  }
  return whole.take();
}

}  // namespace bloomery::onnx
