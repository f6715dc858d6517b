// A file as the engine sees it: a name, a size, and bytes at any position. Where they come from (this machine's disk,
// another system's streams) is the business of whoever implements it; nothing here knows of formats. Any number of
// threads may read at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace bloomery::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual const std::string& name() const = 0;  // for messages
  virtual int64_t size() const = 0;
  // Whether small reads are as good as large ones, as of a file of this machine; else each may be a message to another.
  virtual bool isLocal() const { return false; }
  // Fills all of `into`; the range lies within the size. Throws, naming the source, when that cannot be done.
  virtual void read(int64_t position, std::span<std::byte> into) = 0;
  // For a thread that reads again and again: while it holds this, each read from sources of this kind costs less.
  // nullptr where there is nothing to gain.
  virtual std::shared_ptr<void> prepareThread() { return nullptr; }
  // Wakes whoever waits in `read`, which then throws. For a source that never waits there is nothing to do.
  virtual void cancel() {}
};

}  // namespace bloomery::data
