// Structs of the Arrow C interface that we made and nobody has taken over yet: they are released when their holder
// goes.
#pragma once

namespace bloomery::data {

template <typename Struct>
struct Exported {
  Exported() = default;
  ~Exported() { release(); }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  void release() {
    if (value.release != nullptr) value.release(&value);
  }

  Struct value = {};
};

}  // namespace bloomery::data
