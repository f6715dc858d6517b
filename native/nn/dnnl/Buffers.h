// The memory of a oneDNN plan: asked for while steps are planned, with every use noted, and allocated in one piece at
// the end, where buffers whose lives do not overlap share their place. A memory object has no data before that.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "nn/MemoryPlan.h"
#include "tensor/Arena.h"

namespace bloomery::nn {

class Buffers {
 public:
  explicit Buffers(const dnnl::engine& engine) : engine_(engine) {}

  dnnl::memory add(const dnnl::memory::desc& desc);
  // The data of another buffer, read by another descriptor of the same size.
  dnnl::memory alias(const dnnl::memory& memory, const dnnl::memory::desc& desc);
  // One place for both, from the first use of either to the last.
  void unite(const dnnl::memory& one, const dnnl::memory& other);
  // Extends the life of the buffer behind this memory; memory of others is left alone.
  void use(const dnnl::memory& memory, int time);
  // The caller gives this buffer its data before each pass: nothing is allocated for it.
  void leaveToCaller(const dnnl::memory& memory);
  // This memory and all its aliases, for whoever sets their data.
  const std::vector<dnnl::memory>& aliasesOf(const dnnl::memory& memory) const;

  size_t bytes() const;
  void allocate();

 private:
  struct Buffer {
    std::vector<dnnl::memory> memories;
    BufferLife life;
    bool callers = false;
  };
  const Buffer* find(const dnnl::memory& memory) const;
  Buffer* find(const dnnl::memory& memory);
  MemoryPlan plan() const;

  dnnl::engine engine_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace bloomery::nn
