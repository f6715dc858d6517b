// The layer kinds: what each is made of, the shape it gives and the parameters it learns. No kernels here: nn/ plans
// what is declared. A kind is a plain struct in the variant `Layer`, so that whoever handles layers handles them all,
// checked by the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/Json.h"
#include "network/Parameters.h"
#include "tensor/DType.h"
#include "tensor/Shape.h"

namespace bloomery::network {

enum class Function { kLinear, kRelu, kSoftmax, kSigmoid };
enum class Padding { kValid, kSame };

struct Input {
  static constexpr const char* kKind = "Input";
  Shape shape;
  DType dtype = DType::kFloat32;  // what a binary column holds
  double scale = 1.0;             // applied when a batch is assembled
};

struct Conv2D {
  static constexpr const char* kKind = "Conv2D";
  int64_t filters = 0;
  std::pair<int64_t, int64_t> kernelSize{0, 0};
  std::pair<int64_t, int64_t> strides{1, 1};
  Padding padding = Padding::kValid;
  Function activation = Function::kLinear;
  bool useBias = true;
  Initializer kernelInitializer = Initializer::kGlorotUniform;
  Initializer biasInitializer = Initializer::kZeros;
};

struct MaxPool2D {
  static constexpr const char* kKind = "MaxPool2D";
  std::pair<int64_t, int64_t> poolSize{2, 2};
  std::pair<int64_t, int64_t> strides{2, 2};
  Padding padding = Padding::kValid;
};

struct Dropout {
  static constexpr const char* kKind = "Dropout";
  double rate = 0.0;
};

struct Flatten {
  static constexpr const char* kKind = "Flatten";
};

struct Dense {
  static constexpr const char* kKind = "Dense";
  int64_t units = 0;
  Function activation = Function::kLinear;
  bool useBias = true;
  Initializer kernelInitializer = Initializer::kGlorotUniform;
  Initializer biasInitializer = Initializer::kZeros;
};

// Also written "ReLU" and "Softmax". Softmax runs over the last axis.
struct Activation {
  static constexpr const char* kKind = "Activation";
  Function function = Function::kLinear;
};

using Layer = std::variant<Input, Conv2D, MaxPool2D, Dropout, Flatten, Dense, Activation>;

// Padding before and after along one axis, as TensorFlow and Keras place it.
struct AxisPadding {
  int64_t before = 0;
  int64_t after = 0;
};
AxisPadding paddingOf(Padding padding, int64_t extent, int64_t window, int64_t stride);

// Reads the options of a layer of this kind; a wrong kind or value is a UserError.
Layer readLayer(const std::string& kind, JsonReader& options);

// The activation that a kind carries with it; Activation::function for Activation itself.
Function activationOf(const Layer& layer);
std::string nameOf(Function function);
std::string kindOf(const Layer& layer);

// The output shape for an input shape; adds `<name>/kernel` and so on to the table. A UserError says why a shape does
// not fit, without the layers' names: the graph adds both.
Shape declare(const Layer& layer, const std::string& name, const Shape& input, ParameterTable& parameters);

// Multiplications and additions of one forward pass over one sample.
int64_t flopsOf(const Layer& layer, const Shape& input, const Shape& output);

}  // namespace bloomery::network
