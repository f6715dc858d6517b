// Closed sets of names (layer kinds, options, optimizers): an unknown one is refused with the nearest known one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bloomery {

// The candidate with the smallest edit distance to `name`, or an empty text when none is near enough to be meant.
std::string nearestName(std::string_view name, const std::vector<std::string>& candidates);

// "Unknown optimizer: adamm, nearest known: adam" or, when nothing is near, "..., known: adadelta, adam, sgd".
std::string unknownName(std::string_view what, std::string_view name, const std::vector<std::string>& candidates);

}  // namespace bloomery
