// Memory for decoding: a file comes in batches of nearly the same sizes, and what one batch lets go the next one takes.
// Without it each batch would ask the system for all of its pages anew, which takes longer than decoding them.
#pragma once

#include <arrow/memory_pool.h>

#include <memory>

namespace bloomery::data {

// One for the process; buffers from it may live as long as they like. For any thread.
arrow::MemoryPool* recyclingPool();

// As long as anybody holds one of these, the pool keeps what is let go; with the last one it rests for the next file
// (base/RestingPages.h).
std::shared_ptr<void> keepRecycling();

}  // namespace bloomery::data
