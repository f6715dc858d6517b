// Spoils JSON: a few changes to a tree, and some to its text, drawn from a round's number. So whoever reads it can be
// shown thousands of texts that are nearly right, the same in every run.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "base/JsonValue.h"
#include "base/Random.h"

namespace bloomery {

class JsonMutator {
 public:
  explicit JsonMutator(uint64_t round) : round_(round) {}

  // Of a tree: one to three changes, then perhaps one to the text.
  std::string mutated(Json tree) {
    for (uint64_t changes = 1 + below(3); changes > 0; --changes) change(tree);
    std::string text = tree.dump();
    if (below(4) == 0) changeText(text);
    return text;
  }

  uint64_t below(uint64_t limit) { return philox(round_, ++numDrawn_, 0)[0] % limit; }

 private:
  // A place in the tree: an element of an array or object.
  struct Place {
    Json* parent;
    size_t index;
    Json::iterator iterator() const { return std::next(parent->begin(), static_cast<ptrdiff_t>(index)); }
    Json& value() const { return *iterator(); }
  };

  static void collect(Json& parent, std::vector<Place>& places) {
    for (size_t i = 0; i < parent.size(); ++i) {
      places.push_back({&parent, i});
      Json& value = places.back().value();
      if (value.is_structured()) collect(value, places);
    }
  }

  void change(Json& tree) {
    std::vector<Place> places;
    if (tree.is_structured()) collect(tree, places);
    if (places.empty()) return;
    Place place = places[below(places.size())], other = places[below(places.size())];
    switch (below(8)) {
      case 0:
        place.parent->erase(place.iterator());
        return;
      case 1: {  // the same once more, or under the name of another
        Json copy = place.value();
        if (place.parent->is_array()) {
          place.parent->push_back(std::move(copy));
        } else {
          (*place.parent)[keyOf(other, place)] = std::move(copy);
        }
        return;
      }
      case 2: {  // swapped; one may hold the other
        Json copy = other.value();
        place.value() = std::move(copy);
        return;
      }
      case 3:
      case 4:
        if (place.value().is_number()) {
          place.value() = number();
          return;
        }
        [[fallthrough]];
      case 5: {
        Json wrapped = place.value();
        uint64_t depth = below(8) == 0 ? 100 : 0;
        for (uint64_t i = 0; i < depth; ++i) wrapped = Json::array({std::move(wrapped)});
        place.value() = depth > 0 ? wrapped : anything();
        return;
      }
      case 6:
        place.value() = number();
        return;
      default:
        place.value() = anything();
    }
  }

  static std::string keyOf(const Place& place, const Place& otherwise) {
    const Place& named = place.parent->is_object() ? place : otherwise;
    return named.iterator().key();
  }

  Json number() {
    const Json kNumbers[] = {
        0,          1,           2,           3,       7,      64,         -1,        -8,        1 << 20,
        2147483647, 2147483648u, -2147483649, 1 << 30, 65537,  1000000000, 1LL << 40, 1LL << 62, INT64_MAX,
        INT64_MIN,  UINT64_MAX,  0.5,         -0.0,    1e-300, 1e300,      3.5e38,    1e-45,     0.99999999999,
        1.5,        100,         1000};
    return kNumbers[below(std::size(kNumbers))];
  }

  Json anything() {
    const Json kValues[] = {nullptr,
                            true,
                            false,
                            "",
                            "relu",
                            "same",
                            "softmax",
                            "orthogonal",
                            "input",
                            "a/b",
                            std::string(5000, 'x'),
                            "\xc3\xa4\n\"\\",
                            Json::array(),
                            Json::object(),
                            Json::array({1, 2}),
                            Json::array({-1, 0, 5}),
                            Json::array({Json::array({1, 2}), Json::array({3, 4})}),
                            Json::object({{"l2", 1}}),
                            Json::object({{"kind", "Dense"}, {"units", 4}})};
    return kValues[below(std::size(kValues))];
  }

  void changeText(std::string& text) {
    const std::string kPieces[] = {"{",
                                   "}",
                                   "[",
                                   "]",
                                   "\"",
                                   ",",
                                   ":",
                                   "NaN",
                                   "-Infinity",
                                   "1e999",
                                   "\\u0000",
                                   "\xff",
                                   "\"units\":3,",
                                   "\"kind\":\"Add\",",
                                   std::string(100000, '[')};
    size_t at = below(text.size() + 1);
    switch (below(4)) {
      case 0:
        text.resize(at);
        return;
      case 1:
        text.erase(at, 1 + below(20));
        return;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      default:
        text.insert(at, kPieces[below(std::size(kPieces))]);
    }
  }

  uint64_t round_, numDrawn_ = 0;
};

}  // namespace bloomery
