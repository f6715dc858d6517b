// The layer kinds: what each is made of, the shape it gives and the parameters it learns. No kernels here: nn/ plans
// what is declared. A kind is a plain struct in the variant `Layer`, so that whoever handles layers handles them all,
// checked by the compiler. Kinds that differ only in rank or mode (MaxPool1D, GlobalAveragePool2D) share one struct.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/Json.h"
#include "network/Parameters.h"
#include "tensor/DType.h"
#include "tensor/Shape.h"

namespace bloomery::network {

enum class Function { kLinear, kRelu, kLeakyRelu, kElu, kGelu, kSilu, kSigmoid, kTanh, kSoftplus, kSoftmax };
enum class Padding { kValid, kSame };

using Pair = std::pair<int64_t, int64_t>;  // height, width; the height of sequences is 1

struct Input {
  Shape shape;
  DType dtype = DType::kFloat32;  // what a binary column holds
  double scale = 1.0;             // applied when a batch is assembled
};

// How the parameters of a layer start, and what is added to the loss for them.
struct Weights {
  bool useBias = true;
  Initializer kernelInitializer = Initializer::kGlorotUniform;
  Initializer biasInitializer = Initializer::kZeros;
  Regularizer kernelRegularizer, biasRegularizer;
};

// Conv2D, DepthwiseConv2D, and Conv1D over (steps, channels). The kernel is [height, width, in / groups, filters], that
// of Conv1D [width, in / groups, filters], that of DepthwiseConv2D [height, width, in, multiplier], as in Keras.
struct Convolution {
  int rank = 2;
  int64_t filters = 0;          // 0: depthwise, in * depthMultiplier
  int64_t depthMultiplier = 1;  // depthwise only
  Pair kernelSize{0, 0};
  Pair strides{1, 1};
  Pair dilation{1, 1};
  int64_t groups = 1;  // 0: depthwise, one for each channel
  Padding padding = Padding::kValid;
  Function activation = Function::kLinear;
  Weights weights;

  bool depthwise() const { return filters == 0; }
  int64_t groupsFor(int64_t channels) const { return depthwise() ? channels : groups; }
  int64_t filtersFor(int64_t channels) const { return depthwise() ? channels * depthMultiplier : filters; }
};

// Max and average pooling in one and two dimensions; an average leaves padding out, as Keras's does.
struct Pooling {
  bool maximum = true;
  int rank = 2;
  bool global = false;  // the window is the whole image, the output (channels,)
  Pair poolSize{2, 2};
  Pair strides{2, 2};
  Padding padding = Padding::kValid;
};

// Over the last axis. The running statistics are parameters that are not trained; the variance is the biased one.
struct BatchNormalization {
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  bool synchronized = false;  // statistics over the batches of all workers
};

// Over the last axis.
struct LayerNormalization {
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
};

// Each feature by a mean and variance that do not change: given, or those of the rows of training. Both are parameters
// that are not trained.
struct Normalization {
  std::vector<int64_t> axes = {-1};  // that have a mean for each index; the batch is axis 0, as in Keras
  int64_t size = 1;                  // statistics, which repeat over the values of a row; known once it is declared
  std::vector<float> mean = {}, variance = {};  // empty: the rows of training tell

  bool measuresRows() const { return mean.empty(); }
};

struct Dropout {
  double rate = 0.0;
};

struct Flatten {};

struct Reshape {
  Shape target;  // resolved: no -1
};

// Zeros around an image.
struct ZeroPadding {
  Pair vertical{0, 0};    // above, below
  Pair horizontal{0, 0};  // left, right
};

struct Rescaling {
  double scale = 1.0;
  double offset = 0.0;
};

// On the last axis of any shape. Kernel [in, units].
struct Dense {
  int64_t units = 0;
  Function activation = Function::kLinear;
  Weights weights;
};

// Also written by the name of its function: "ReLU", "Softmax", "LeakyReLU", "ELU". Softmax runs over the last axis.
struct Activation {
  Function function = Function::kLinear;
  double slope = 0.0;  // leaky_relu: of the negative side; elu: alpha
};

// Turns indices (steps,) into (steps, outputDim). Kernel `embeddings` [inputDim, outputDim].
struct Embedding {
  int64_t inputDim = 0;
  int64_t outputDim = 0;
  bool maskZero = false;  // steps of index 0 are skipped by the recurrent layers behind
  Initializer initializer = Initializer::kRandomUniform;
  Regularizer regularizer;
};

// LSTM and GRU (reset after the matrix product, as Keras's default). Gates in Keras's order: i f c o, and z r h.
struct Recurrent {
  enum class Cell { kLstm, kGru };
  Cell cell = Cell::kLstm;
  int64_t units = 0;
  bool returnSequences = false;
  bool goBackwards = false;
  bool bidirectional = false;  // a second cell reads backwards, outputs are concatenated
  bool useBias = true;
  bool unitForgetBias = true;
  Initializer kernelInitializer = Initializer::kGlorotUniform;
  Initializer recurrentInitializer = Initializer::kOrthogonal;
  Regularizer kernelRegularizer;

  int64_t numGates() const { return cell == Cell::kLstm ? 4 : 3; }
};

// Element by element, or side by side on the last axis.
struct Merge {
  enum class How { kAdd, kMultiply, kConcatenate };
  How how = How::kAdd;
};

using Layer =
    std::variant<Input, Convolution, Pooling, BatchNormalization, LayerNormalization, Dropout, Flatten, Reshape,
                 ZeroPadding, Rescaling, Dense, Activation, Embedding, Recurrent, Merge, Normalization>;

// Padding before and after along one axis, as TensorFlow and Keras place it.
struct AxisPadding {
  int64_t before = 0;
  int64_t after = 0;
};
AxisPadding paddingOf(Padding padding, int64_t extent, int64_t window, int64_t stride, int64_t dilation = 1);

// (steps, channels) as the image (1, steps, channels), (features,) as (1, 1, features).
Shape imageOf(const Shape& shape);

// Reads the options of a layer of this kind; a wrong kind or value is a UserError.
Layer readLayer(const std::string& kind, JsonReader& options);

// The activation that a kind carries with it; Activation::function for Activation itself.
Function activationOf(const Layer& layer);
std::string nameOf(Function function);
// What a function named without options has: 0.2 for leaky_relu, 1 for elu.
double defaultSlopeOf(Function function);

// The output shape for the input shapes; adds `<name>/kernel` and so on to the table. A UserError says why a shape does
// not fit, without the layers' names: the graph adds both. Completes what depends on the input (Reshape's -1).
Shape declare(Layer& layer, const std::string& name, std::span<const Shape> inputs, ParameterTable& parameters);

// The steps of a sequence leave the layer as they came, so those to skip stay the same.
bool keepsSteps(const Layer& layer);

// Multiplications and additions of one forward pass over one sample.
int64_t flopsOf(const Layer& layer, const Shape& input, const Shape& output);

}  // namespace bloomery::network
