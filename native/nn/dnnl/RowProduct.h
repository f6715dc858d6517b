// Matrix products whose number of rows is only known when they run: a few primitives of graded sizes are made once, and
// the next larger one runs. Rows between are computed too, so the memory must reach that far.
#pragma once

#include <vector>

#include "nn/dnnl/PlanBuilder.h"

namespace bloomery::nn {

// [rows, in] x kernel [in, out] (or its transpose) = [rows, out], added to what is there or not.
class RowProduct {
 public:
  // Grades are multiples of `granule`; so is maxRows.
  RowProduct(Phase phase, int64_t maxRows, int64_t granule, const dnnl::memory& kernel, bool transposed, bool adds,
             PlanBuilder& builder);

  // Brings the kernel into the layout of the primitives, once a pass.
  void prepare(const dnnl::stream& stream);
  void run(const dnnl::stream& stream, int64_t rows, const float* from, float* to);

 private:
  struct Grade {
    int64_t rows;
    dnnl::memory from, to;
    Operation operation;
  };
  std::vector<Operation> reorder_;
  std::vector<Grade> grades_;
};

// left [rows, in] transposed x right [rows, out] = [in, out]. Rows between the given number and the next grade are set
// to zero on both sides.
class GradientProduct {
 public:
  GradientProduct(int64_t maxRows, int64_t in, int64_t out, const dnnl::memory& gradient, PlanBuilder& builder);
  void run(const dnnl::stream& stream, int64_t rows, float* left, float* right);

 private:
  struct Grade {
    int64_t rows;
    dnnl::memory left, right;
    Operation operation;
  };
  int64_t in_, out_;
  dnnl::memory gradient_;
  std::vector<Grade> grades_;
};

}  // namespace bloomery::nn
