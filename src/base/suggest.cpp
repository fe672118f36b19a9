#include "base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ktraced {
namespace {

// Names are short; beyond this nothing is a misspelling of anything.
constexpr size_t kLengthMax = 64;

// Insertions, deletions and replacements that turn one word into the other.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < to.size(); ++j) {
      size_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[to.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  if (name.size() > kLengthMax) return std::nullopt;
  std::optional<std::string_view> best;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    size_t distance = edit_distance(name, candidate);
    if (distance >= least || distance >= candidate.size()) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  auto best = nearest(name, candidates);
  return best ? fmt::format("; did you mean '{}'?", *best) : std::string();
}

}  // namespace ktraced
