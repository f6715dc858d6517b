#include "nn/CountingAllocator.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace bloomery::nn {

AllocationCounts& allocationCounts() {
  static AllocationCounts counts;
  return counts;
}

}  // namespace bloomery::nn

namespace {

bool isForeign(void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  return std::strstr(info.dli_fname, "libdnnl") != nullptr || std::strstr(info.dli_fname, "libgomp") != nullptr;
}

void* allocate(size_t size, size_t alignment, void* caller) {
  auto& counts = bloomery::nn::allocationCounts();
  if (counts.counting && !isForeign(caller)) ++counts.numAllocations;
  size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, 16, __builtin_return_address(0)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 16, __builtin_return_address(0));
}
void* operator new[](size_t size) { return allocate(size, 16, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete[](void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { std::free(data); }

// Stands before oneDNN's own, which it calls.
extern "C" __attribute__((visibility("default"))) int dnnl_primitive_create(void** primitive, const void* desc) {
  ++bloomery::nn::allocationCounts().numPrimitives;
  static auto* next = reinterpret_cast<int (*)(void**, const void*)>(dlsym(RTLD_NEXT, "dnnl_primitive_create"));
  return next(primitive, desc);
}
