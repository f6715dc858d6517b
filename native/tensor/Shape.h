// The extents of a tensor, outermost first. Channels come last, as in Keras; the batch is not part of a layer's shape.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace bloomery {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

  size_t rank() const { return extents_.size(); }
  int64_t operator[](size_t axis) const { return extents_[axis]; }
  const std::vector<int64_t>& extents() const { return extents_; }
  int64_t numElements() const;
  std::string toString() const;  // (28, 28, 1)
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> extents_;
};

}  // namespace bloomery
