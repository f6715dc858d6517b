// A hash of what a row of a batch holds, whatever its place: equal values in columns of equal types give the same one
// in any batch. Nothing is made for a row. Borrows the arrays.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace bloomery::data {

class RowHash {
 public:
  explicit RowHash(const std::vector<const arrow::Array*>& columns);
  uint64_t of(int64_t row) const;

 private:
  // A column, or what is nested in one.
  struct Values {
    const arrow::Array* array = nullptr;
    std::shared_ptr<arrow::Array> held = {};  // where nobody else holds it
    std::vector<Values> inside = {};
    int64_t width = 0;  // in bytes; 0: values have none of their own
  };

  static Values valuesOf(const arrow::Array& array);
  static Values valuesOf(std::shared_ptr<arrow::Array> array);
  static void add(const Values& values, int64_t first, int64_t count, uint64_t& hash);
  static void addOne(const Values& values, int64_t index, uint64_t& hash);

  std::vector<Values> columns_;
};

}  // namespace bloomery::data
