#include "data/Categories.h"

#include "base/Random.h"

namespace bloomery::data {

Categories::Categories(const CategoryRule& rule)
    : hashBuckets_(rule.hashBuckets),
      firstIndex_(rule.firstIndex),
      unknown_(rule.unknownIsLast ? rule.indexLimit() - 1 : -1) {
  places_.reserve(rule.vocabulary.size());
  int64_t place = firstIndex_;
  for (const std::string& text : rule.vocabulary) places_.emplace(text, place++);
}

int64_t Categories::indexOf(std::string_view text) const {
  if (hashBuckets_ > 0) {
    return firstIndex_ + static_cast<int64_t>(mixKey(0, text) % static_cast<uint64_t>(hashBuckets_));
  }
  auto found = places_.find(text);
  return found == places_.end() ? unknown_ : found->second;
}

}  // namespace bloomery::data
