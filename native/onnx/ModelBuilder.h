// An ONNX model that is being written: operations in the order in which they run, each value under a name of its own.
// Knows ONNX's messages and nothing of our layers.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onnx/Message.h"
#include "tensor/DType.h"
#include "tensor/Shape.h"

namespace bloomery::onnx {

// The operators are those of this version of ONNX, the first with LayerNormalization.
inline constexpr int64_t kOpset = 17;

// What a message of protocol buffers can hold.
inline constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max();

enum class ElementType {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kDouble = 11
};
ElementType elementTypeOf(DType type);

using Attribute = std::variant<int64_t, float, std::vector<int64_t>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;
using Names = std::vector<std::string>;

class ModelBuilder {
 public:
  explicit ModelBuilder(const std::string& name, size_t maxBytes = kMaxBytes);

  // Shapes are without the batch, which comes first and may be any. Call before anything else: their names are the
  // user's, and all others make way.
  std::string addInput(const std::string& name, DType type, const Shape& shape);
  std::string addOutput(const std::string& name, const Shape& shape);

  // Constants. The name is a wish; what is given back is the value's name.
  std::string addFloats(const std::string& name, const Shape& shape, std::span<const float> values);
  std::string addIntegers(const std::string& name, const std::vector<int64_t>& values);
  std::string addInteger(const std::string& name, int64_t value);  // a scalar

  // An operation of a layer; the name of what it gives. An empty input is one that is left out.
  std::string add(const std::string& layer, const std::string& kind, const Names& inputs,
                  const Attributes& attributes = {});
  Names addSeveral(const std::string& layer, const std::string& kind, const Names& inputs, size_t numOutputs,
                   const Attributes& attributes = {});
  // One whose output has a name that addOutput gave.
  void addInto(const std::string& output, const std::string& kind, const Names& inputs);

  // The model's bytes; a UserError when they are more than such a file can hold. Ends the builder.
  std::string finish();

 private:
  std::string unique(const std::string& wish);
  std::string addTensor(const std::string& name, const std::vector<int64_t>& extents, ElementType type,
                        std::span<const std::byte> values);
  void addNode(const std::string& name, const std::string& kind, const Names& inputs, const Names& outputs,
               const Attributes& attributes);

  Message graph_;
  size_t maxBytes_;
  std::set<std::string> names_;
};

}  // namespace bloomery::onnx
