#include "nn/dnnl/Buffers.h"

#include <algorithm>
#include <limits>

#include "base/Error.h"

namespace bloomery::nn {

dnnl::memory Buffers::add(const dnnl::memory::desc& desc) {
  auto buffer = std::make_unique<Buffer>();
  buffer->memories.push_back({desc, engine_, DNNL_MEMORY_NONE});
  buffer->life = {desc.get_size(), std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  buffers_.push_back(std::move(buffer));
  return buffers_.back()->memories.front();
}

dnnl::memory Buffers::alias(const dnnl::memory& memory, const dnnl::memory::desc& desc) {
  Buffer* buffer = find(memory);
  check(buffer != nullptr && desc.get_size() == buffer->life.bytes, "Alias does not fit its buffer");
  buffer->memories.push_back({desc, engine_, DNNL_MEMORY_NONE});
  return buffer->memories.back();
}

void Buffers::unite(const dnnl::memory& one, const dnnl::memory& other) {
  Buffer *kept = find(one), *gone = find(other);
  check(kept != nullptr && gone != nullptr && kept->life.bytes == gone->life.bytes, "Buffers of different sizes");
  if (kept == gone) return;
  kept->memories.insert(kept->memories.end(), gone->memories.begin(), gone->memories.end());
  kept->life.first = std::min(kept->life.first, gone->life.first);
  kept->life.last = std::max(kept->life.last, gone->life.last);
  std::erase_if(buffers_, [&](const auto& buffer) { return buffer.get() == gone; });
}

const Buffers::Buffer* Buffers::find(const dnnl::memory& memory) const {
  for (const auto& buffer : buffers_) {
    for (const dnnl::memory& own : buffer->memories) {
      if (own.get() == memory.get()) return buffer.get();
    }
  }
  return nullptr;
}

Buffers::Buffer* Buffers::find(const dnnl::memory& memory) {
  return const_cast<Buffer*>(static_cast<const Buffers*>(this)->find(memory));
}

void Buffers::use(const dnnl::memory& memory, int time) {
  Buffer* buffer = find(memory);
  if (buffer == nullptr) return;
  buffer->life.first = std::min(buffer->life.first, time);
  buffer->life.last = std::max(buffer->life.last, time);
}

void Buffers::leaveToCaller(const dnnl::memory& memory) { find(memory)->callers = true; }

const std::vector<dnnl::memory>& Buffers::aliasesOf(const dnnl::memory& memory) const { return find(memory)->memories; }

MemoryPlan Buffers::plan() const {
  std::vector<BufferLife> lives;
  for (const auto& buffer : buffers_) {
    bool used = buffer->life.first <= buffer->life.last && !buffer->callers;
    lives.push_back(used ? buffer->life : BufferLife{});
  }
  return planMemory(lives);
}

size_t Buffers::bytes() const { return plan().bytes; }

void Buffers::allocate() {
  MemoryPlan memoryPlan = plan();
  arena_ = std::make_unique<Arena>(memoryPlan.bytes / sizeof(float));
  char* data = reinterpret_cast<char*>(arena_->all().data());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i]->callers) continue;
    for (dnnl::memory& memory : buffers_[i]->memories) memory.set_data_handle(data + memoryPlan.offsets[i]);
  }
}

}  // namespace bloomery::nn
