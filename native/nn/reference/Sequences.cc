// Embedding, LSTM and GRU, one row and one step after the other.
#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/reference/Layers.h"

namespace bloomery::nn::reference {

namespace {

using network::Recurrent;
using Vector = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What one step of one row computed.
struct Step {
  int64_t at = 0;                              // position in the input
  int64_t written = 0;                         // position in the output
  Vector gates, recurrentPart, state, output;  // after the functions; GRU: hU + b; the cell's state; h
};

// One direction of a layer on one row.
class Cell {
 public:
  Cell(const Recurrent& layer, const Site& site, bool backwards, size_t firstParameter)
      : layer_(layer),
        site_(site),
        backwards_(backwards),
        first_(firstParameter),
        features_(site.node.input[1]),
        units_(layer.units),
        width_(layer.numGates() * layer.units),
        numSteps_(site.node.input[0]) {}

  // The steps that are not skipped, in the order they run.
  std::vector<Step> run(int64_t row) const {
    std::vector<Step> steps;
    Vector h(size(units_), 0.0), c(size(units_), 0.0);
    for (int64_t i = 0; i < numSteps_; ++i) {
      int64_t at = backwards_ ? numSteps_ - 1 - i : i;
      if (skipped(row, at)) continue;
      Step step;
      step.at = at;
      step.written = layer_.bidirectional ? at : i;
      advance(row, step, h, c);
      h = step.output;
      c = step.state;
      steps.push_back(std::move(step));
    }
    return steps;
  }

  // outer: the gradient of each step's output [steps][units].
  void backward(int64_t row, const std::vector<Step>& steps, const std::vector<Vector>& outer) const {
    Vector dh(size(units_), 0.0), dc(size(units_), 0.0);
    for (size_t s = steps.size(); s > 0; --s) {
      const Step& step = steps[s - 1];
      const Vector zero(size(units_), 0.0);
      const Vector& before = s > 1 ? steps[s - 2].output : zero;
      const Vector& stateBefore = s > 1 ? steps[s - 2].state : zero;
      for (size_t u = 0; u < size(units_); ++u) dh[u] += outer[s - 1][u];
      Vector dx(size(width_)), dr(size(width_)), direct(size(units_), 0.0);
      layer_.cell == Recurrent::Cell::kLstm ? lstmBackward(step, stateBefore, dh, dc, dx, dr)
                                            : gruBackward(step, before, dh, dx, dr, direct);
      spread(row, step.at, before, dx, dr);
      for (int64_t u = 0; u < units_; ++u) {
        double sum = direct[size(u)];
        for (int64_t k = 0; k < width_; ++k) sum += dr[size(k)] * recurrent()[u * width_ + k];
        dh[size(u)] = sum;
      }
    }
  }

 private:
  static size_t size(int64_t value) { return static_cast<size_t>(value); }
  const float* kernel() const { return site_.parameters[first_].data; }
  const float* recurrent() const { return site_.parameters[first_ + 1].data; }
  const float* bias() const { return layer_.useBias ? site_.parameters[first_ + 2].data : nullptr; }
  const float* inputAt(int64_t row, int64_t at) const { return site_.input + (row * numSteps_ + at) * features_; }

  bool skipped(int64_t row, int64_t at) const {
    return site_.mask != nullptr && (*site_.mask)[size(row * numSteps_ + at)] == 0;
  }

  void advance(int64_t row, Step& step, const Vector& h, const Vector& c) const {
    Vector x(size(width_), 0.0), r(size(width_), 0.0);
    bool gru = layer_.cell == Recurrent::Cell::kGru;
    for (int64_t k = 0; k < width_; ++k) {
      double& sum = x[size(k)];
      for (int64_t i = 0; i < features_; ++i) sum += double{inputAt(row, step.at)[i]} * kernel()[i * width_ + k];
      for (int64_t u = 0; u < units_; ++u) r[size(k)] += h[size(u)] * recurrent()[u * width_ + k];
      if (bias() != nullptr) sum += bias()[k];
      if (bias() != nullptr && gru) r[size(k)] += bias()[width_ + k];
    }
    step.gates.resize(size(width_));
    step.output.resize(size(units_));
    step.state = c;
    step.recurrentPart = r;
    size_t n = size(units_);
    for (size_t u = 0; u < n; ++u) {
      Vector& gates = step.gates;
      if (gru) {
        gates[u] = sigmoid(x[u] + r[u]);
        gates[n + u] = sigmoid(x[n + u] + r[n + u]);
        gates[2 * n + u] = std::tanh(x[2 * n + u] + gates[n + u] * r[2 * n + u]);
        step.output[u] = gates[u] * h[u] + (1 - gates[u]) * gates[2 * n + u];
      } else {
        gates[u] = sigmoid(x[u] + r[u]);
        gates[n + u] = sigmoid(x[n + u] + r[n + u]);
        gates[2 * n + u] = std::tanh(x[2 * n + u] + r[2 * n + u]);
        gates[3 * n + u] = sigmoid(x[3 * n + u] + r[3 * n + u]);
        step.state[u] = gates[n + u] * c[u] + gates[u] * gates[2 * n + u];
        step.output[u] = gates[3 * n + u] * std::tanh(step.state[u]);
      }
    }
  }

  void lstmBackward(const Step& step, const Vector& stateBefore, const Vector& dh, Vector& dc, Vector& dx,
                    Vector& dr) const {
    size_t n = size(units_);
    const Vector& gates = step.gates;
    for (size_t u = 0; u < n; ++u) {
      double t = std::tanh(step.state[u]), i = gates[u], f = gates[n + u], g = gates[2 * n + u], o = gates[3 * n + u];
      double d = dc[u] + dh[u] * o * (1 - t * t);
      dx[u] = d * g * i * (1 - i);
      dx[n + u] = d * stateBefore[u] * f * (1 - f);
      dx[2 * n + u] = d * i * (1 - g * g);
      dx[3 * n + u] = dh[u] * t * o * (1 - o);
      dc[u] = d * f;
    }
    dr = dx;
  }

  void gruBackward(const Step& step, const Vector& before, const Vector& dh, Vector& dx, Vector& dr,
                   Vector& direct) const {
    size_t n = size(units_);
    const Vector& gates = step.gates;
    for (size_t u = 0; u < n; ++u) {
      double z = gates[u], r = gates[n + u], h = gates[2 * n + u];
      double inner = dh[u] * (1 - z) * (1 - h * h);
      dx[u] = dr[u] = dh[u] * (before[u] - h) * z * (1 - z);
      dx[n + u] = dr[n + u] = inner * step.recurrentPart[2 * n + u] * r * (1 - r);
      dx[2 * n + u] = inner;
      dr[2 * n + u] = inner * r;
      direct[u] = dh[u] * z;
    }
  }

  // From the gates' gradients to those of kernels, bias and input.
  void spread(int64_t row, int64_t at, const Vector& before, const Vector& dx, const Vector& dr) const {
    float* inputGradient = site_.inputGradient + (row * numSteps_ + at) * features_;
    for (int64_t k = 0; k < width_; ++k) {
      for (int64_t i = 0; i < features_; ++i) {
        site_.gradients[first_].data[i * width_ + k] += static_cast<float>(dx[size(k)] * inputAt(row, at)[i]);
        inputGradient[i] += static_cast<float>(dx[size(k)] * kernel()[i * width_ + k]);
      }
      for (int64_t u = 0; u < units_; ++u) {
        site_.gradients[first_ + 1].data[u * width_ + k] += static_cast<float>(dr[size(k)] * before[size(u)]);
      }
      if (!layer_.useBias) continue;
      site_.gradients[first_ + 2].data[k] += static_cast<float>(dx[size(k)]);
      if (layer_.cell == Recurrent::Cell::kGru) {
        site_.gradients[first_ + 2].data[width_ + k] += static_cast<float>(dr[size(k)]);
      }
    }
  }

  const Recurrent& layer_;
  const Site& site_;
  bool backwards_;
  size_t first_;
  int64_t features_, units_, width_, numSteps_;
};

// Both directions, each with its place among the outputs.
template <typename Visit>
void forEachCell(const Recurrent& layer, const Site& site, Visit visit) {
  visit(Cell(layer, site, layer.goBackwards, 0), 0);
  if (layer.bidirectional) visit(Cell(layer, site, true, layer.useBias ? 3 : 2), layer.units);
}

// Which step's output stands at each position of the output, -1 for none: a skipped step repeats the one before.
std::vector<int64_t> shownAt(const std::vector<Step>& steps, int64_t numSteps, bool backwards) {
  std::vector<int64_t> shown(static_cast<size_t>(numSteps), -1);
  for (size_t s = 0; s < steps.size(); ++s) shown[static_cast<size_t>(steps[s].written)] = static_cast<int64_t>(s);
  int64_t last = -1;
  for (int64_t i = 0; i < numSteps; ++i) {
    int64_t& one = shown[static_cast<size_t>(backwards ? numSteps - 1 - i : i)];
    if (one < 0) one = last;
    last = one;
  }
  return shown;
}

}  // namespace

void forward(const Recurrent& layer, const Site& site) {
  int64_t width = site.node.output.extents().back(), numSteps = site.node.input[0];
  std::fill_n(site.output, site.batch * site.node.output.numElements(), 0.0f);
  forEachCell(layer, site, [&](const Cell& cell, int64_t offset) {
    for (int64_t row = 0; row < site.batch; ++row) {
      std::vector<Step> steps = cell.run(row);
      if (!layer.returnSequences) {
        if (!steps.empty())
          std::copy(steps.back().output.begin(), steps.back().output.end(), site.output + row * width + offset);
        continue;
      }
      std::vector<int64_t> shown = shownAt(steps, numSteps, offset > 0);
      for (int64_t at = 0; at < numSteps; ++at) {
        int64_t step = shown[static_cast<size_t>(at)];
        if (step < 0) continue;
        const Vector& output = steps[static_cast<size_t>(step)].output;
        std::copy(output.begin(), output.end(), site.output + (row * numSteps + at) * width + offset);
      }
    }
  });
}

void backward(const Recurrent& layer, const Site& site) {
  int64_t width = site.node.output.extents().back(), numSteps = site.node.input[0];
  for (const TensorView& gradient : site.gradients) std::fill(gradient.span().begin(), gradient.span().end(), 0.0f);
  std::fill_n(site.inputGradient, site.batch * site.node.input.numElements(), 0.0f);
  forEachCell(layer, site, [&](const Cell& cell, int64_t offset) {
    for (int64_t row = 0; row < site.batch; ++row) {
      std::vector<Step> steps = cell.run(row);
      std::vector<Vector> outer(steps.size(), Vector(static_cast<size_t>(layer.units), 0.0));
      auto collect = [&](int64_t step, const float* gradient) {
        for (int64_t u = 0; step >= 0 && u < layer.units; ++u) {
          outer[static_cast<size_t>(step)][static_cast<size_t>(u)] += gradient[offset + u];
        }
      };
      if (!layer.returnSequences) {
        collect(static_cast<int64_t>(steps.size()) - 1, site.outputGradient + row * width);
      } else {
        std::vector<int64_t> shown = shownAt(steps, numSteps, offset > 0);
        for (int64_t at = 0; at < numSteps; ++at) {
          collect(shown[static_cast<size_t>(at)], site.outputGradient + (row * numSteps + at) * width);
        }
      }
      cell.backward(row, steps, outer);
    }
  });
}

void forward(const network::Embedding& layer, const Site& site) {
  for (int64_t i = 0; i < site.batch * site.node.input.numElements(); ++i) {
    const float* row = site.parameters[0].data + static_cast<int64_t>(site.input[i]) * layer.outputDim;
    std::copy_n(row, layer.outputDim, site.output + i * layer.outputDim);
  }
}

void backward(const network::Embedding& layer, const Site& site) {
  std::vector<double> sums(static_cast<size_t>(site.gradients[0].numElements()), 0.0);
  for (int64_t i = 0; i < site.batch * site.node.input.numElements(); ++i) {
    for (int64_t k = 0; k < layer.outputDim; ++k) {
      sums[static_cast<size_t>(static_cast<int64_t>(site.input[i]) * layer.outputDim + k)] +=
          site.outputGradient[i * layer.outputDim + k];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) site.gradients[0].data[i] = static_cast<float>(sums[i]);
  std::fill_n(site.inputGradient, site.batch * site.node.input.numElements(), 0.0f);
}

}  // namespace bloomery::nn::reference
