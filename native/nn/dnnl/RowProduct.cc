#include "nn/dnnl/RowProduct.h"

#include <algorithm>

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

constexpr int64_t kNumGrades = 16;

// Ascending, the last is maxRows.
std::vector<int64_t> gradesOf(int64_t maxRows, int64_t granule = 1) {
  std::vector<int64_t> grades;
  for (int64_t i = 1; i <= kNumGrades; ++i) {
    int64_t rows = (maxRows * i + kNumGrades - 1) / kNumGrades;
    rows = (rows + granule - 1) / granule * granule;
    if (rows > 0 && (grades.empty() || rows > grades.back())) grades.push_back(rows);
  }
  return grades;
}

template <typename Grades>
auto& gradeFor(Grades& grades, int64_t rows) {
  auto found = std::find_if(grades.begin(), grades.end(), [&](const auto& grade) { return grade.rows >= rows; });
  check(found != grades.end(), "More rows than planned: ", rows);
  return *found;
}

}  // namespace

RowProduct::RowProduct(Phase phase, int64_t maxRows, int64_t granule, const dnnl::memory& kernel, bool transposed,
                       bool adds, PlanBuilder& builder) {
  dnnl::memory::dims dims = kernel.get_desc().get_dims();
  int64_t in = transposed ? dims[1] : dims[0], out = transposed ? dims[0] : dims[1];
  dnnl::memory::desc given({in, out}, DataType::f32, transposed ? Tag::ba : Tag::ab);
  dnnl::primitive_attr attributes = builder.attributes();
  if (adds) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  auto product = [&](int64_t rows, const dnnl::memory::desc& weights) {
    return dnnl::matmul::primitive_desc(builder.engine(), PlanBuilder::matrix(rows, in), weights,
                                        PlanBuilder::matrix(rows, out), attributes);
  };
  dnnl::memory::desc liked = product(maxRows, dnnl::memory::desc({in, out}, DataType::f32, Tag::any)).weights_desc();
  dnnl::memory weights(given, builder.engine(), kernel.get_data_handle());
  weights = builder.parameterAs(liked, weights, phase, reorder_);
  for (int64_t rows : gradesOf(maxRows, granule)) {
    dnnl::matmul::primitive_desc desc = product(rows, liked);
    dnnl::memory from(desc.src_desc(), builder.engine(), DNNL_MEMORY_NONE);
    dnnl::memory to(desc.dst_desc(), builder.engine(), DNNL_MEMORY_NONE);
    Operation operation =
        builder.operation(phase, desc, {{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, to}});
    grades_.push_back({rows, from, to, std::move(operation)});
  }
}

void RowProduct::prepare(const dnnl::stream& stream) {
  for (const Operation& operation : reorder_) operation.run(stream);
}

void RowProduct::run(const dnnl::stream& stream, int64_t rows, const float* from, float* to) {
  if (rows == 0) return;
  Grade& grade = gradeFor(grades_, rows);
  grade.from.set_data_handle(const_cast<float*>(from));
  grade.to.set_data_handle(to);
  grade.operation.run(stream);
}

GradientProduct::GradientProduct(int64_t maxRows, int64_t in, int64_t out, const dnnl::memory& gradient,
                                 PlanBuilder& builder)
    : in_(in), out_(out), gradient_(gradient) {
  for (int64_t rows : gradesOf(maxRows)) {
    dnnl::memory::desc transposed({in, rows}, DataType::f32, Tag::ba);
    dnnl::matmul::primitive_desc desc(builder.engine(), transposed, PlanBuilder::matrix(rows, out),
                                      PlanBuilder::matrix(in, out), builder.attributes());
    dnnl::memory left(transposed, builder.engine(), DNNL_MEMORY_NONE);
    dnnl::memory right(desc.weights_desc(), builder.engine(), DNNL_MEMORY_NONE);
    Operation operation = builder.operation(
        Phase::kBackward, desc, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, gradient}});
    grades_.push_back({rows, left, right, std::move(operation)});
  }
}

void GradientProduct::run(const dnnl::stream& stream, int64_t rows, float* left, float* right) {
  if (rows == 0) {
    std::fill_n(dataOf(gradient_), in_ * out_, 0.0f);
    return;
  }
  Grade& grade = gradeFor(grades_, rows);
  std::fill(left + rows * in_, left + grade.rows * in_, 0.0f);
  std::fill(right + rows * out_, right + grade.rows * out_, 0.0f);
  grade.left.set_data_handle(left);
  grade.right.set_data_handle(right);
  grade.operation.run(stream);
}

}  // namespace bloomery::nn
