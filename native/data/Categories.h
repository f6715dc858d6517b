// Looks up the index of a text: its place in a vocabulary, or its hash. Made once from a rule and then only read, by
// any thread. Whole numbers are looked up as the text of their digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "data/InputColumn.h"

namespace bloomery::data {

// Lets a view be looked up without a copy of its text.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

class Categories {
 public:
  explicit Categories(const CategoryRule& rule);

  // -1: not in the vocabulary, and the rule has no index for that.
  int64_t indexOf(std::string_view text) const;
  int64_t size() const { return static_cast<int64_t>(places_.size()); }  // of the vocabulary

 private:
  TextMap<int64_t> places_;
  int64_t hashBuckets_;
  int64_t firstIndex_;
  int64_t unknown_;
};

}  // namespace bloomery::data
