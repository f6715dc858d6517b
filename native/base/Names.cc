#include "base/Names.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/Error.h"

namespace bloomery {

namespace {

std::string lowered(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c != '_' && c != '-') result.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return result;
}

size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearestName(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 256;  // the time to compare grows with the square
  if (name.size() > kLongestName) return "";
  std::string wanted = lowered(name);
  std::string best;
  size_t bestDistance = std::max<size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    size_t distance = editDistance(wanted, lowered(candidate));
    if (distance < bestDistance && distance < candidate.size()) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknownName(std::string_view what, std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest = nearestName(name, candidates);
  if (!nearest.empty()) return message("Unknown ", what, ": ", name, ", nearest known: ", nearest);
  std::vector<std::string> sorted = candidates;
  std::sort(sorted.begin(), sorted.end());
  std::string known;
  for (const std::string& candidate : sorted) known += (known.empty() ? "" : ", ") + candidate;
  return message("Unknown ", what, ": ", name, ", known: ", known);
}

}  // namespace bloomery
