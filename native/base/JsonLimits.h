// What a JSON text may be before anything is built from it: so large, so deep, and no key twice in one object. Beyond
// that the parser or whoever walks the tree would need the stack or the memory of the machine, or take one of two
// values in silence. Not a parser: what is no JSON at all passes here and fails there.
#pragma once

#include <cstddef>
#include <string>

namespace bloomery {

inline constexpr size_t kMaxJsonBytes = size_t{16} << 20;
inline constexpr size_t kMaxJsonDepth = 64;
// An object looks its keys up one by one.
inline constexpr size_t kMaxJsonKeys = 20'000;

// UserError; `what` names the text ("network").
void checkJsonLimits(const std::string& text, const std::string& what);

}  // namespace bloomery
