#include "tensor/Arena.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/Error.h"
#include "base/RestingPages.h"

namespace bloomery {

namespace {
constexpr size_t kAlignment = 64;
constexpr size_t kFloatsPerLine = kAlignment / sizeof(float);
size_t roundedUp(size_t numFloats) { return (numFloats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine; }

// Large arenas ask for large pages, where the machine has them to give: kernels that walk many rows at once would spend
// a seventh of their time looking up small ones (a dense layer of 5000 x 2500 on AVX2).
constexpr size_t kLargePage = 2 << 20;

constexpr bool isLarge(size_t bytes) { return bytes >= 2 * kLargePage; }
constexpr size_t alignmentOf(size_t bytes) { return isLarge(bytes) ? kLargePage : kAlignment; }

float* allocate(size_t bytes) {
  RestedPages pages = takeRestedPages(bytes, alignmentOf(bytes));
  if (pages.memory != nullptr && pages.isFresh && isLarge(bytes)) madvise(pages.memory, bytes, MADV_HUGEPAGE);
  return static_cast<float*>(pages.memory);
}
}  // namespace

size_t ArenaLayout::add(std::string name, Shape shape) {
  size_t size = static_cast<size_t>(shape.numElements());
  slices_.push_back({std::move(name), std::move(shape), numFloats_, size});
  numFloats_ += roundedUp(size);
  return slices_.size() - 1;
}

const Slice& ArenaLayout::find(const std::string& name) const {
  auto found = std::find_if(slices_.begin(), slices_.end(), [&](const Slice& slice) { return slice.name == name; });
  check(found != slices_.end(), "No such slice: ", name);
  return *found;
}

void Arena::Free::operator()(float* data) const { restPages(data, bytes, alignmentOf(bytes)); }

Arena::Arena(size_t numFloats, Memory memory) : numFloats_(numFloats) {
  size_t bytes = std::max<size_t>(roundedUp(numFloats) * sizeof(float), kAlignment);
  if (memory == Memory::kShareable) share(bytes);
  if (data_ == nullptr) {
    own_ = {allocate(bytes), Free{bytes}};
    data_ = own_.get();
  }
  if (data_ == nullptr) throw ResourceError(message("Out of memory: arena of ", bytes, " bytes"));
  clear();
}

// Such memory has large pages only where the system's settings allow them for files, too.
void Arena::share(size_t bytes) {
  file_ = MemoryFile(bytes);
  if (file_.there()) pages_ = MappedPages(file_, 0, bytes, true);
  if (pages_.data() == nullptr) {
    file_ = {};
    return;
  }
  if (isLarge(bytes)) madvise(pages_.data(), bytes, MADV_HUGEPAGE);
  data_ = reinterpret_cast<float*>(pages_.data());
}

void Arena::clear() { std::fill_n(data_, numFloats_, 0.0f); }

}  // namespace bloomery
