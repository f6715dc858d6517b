// Element types of columns and tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bloomery {

enum class DType { kFloat32, kFloat64, kUint8, kInt8, kInt16, kInt32, kInt64 };

size_t sizeOf(DType type);
std::string nameOf(DType type);
DType dtypeOf(const std::string& name);  // UserError with the nearest name
const std::vector<std::string>& dtypeNames();

}  // namespace bloomery
