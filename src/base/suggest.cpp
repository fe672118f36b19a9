#include "base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// Names are short; beyond this nothing is a misspelling of anything.
constexpr size_t kLengthMax = 64;

// Insertions, deletions and replacements that turn one word into the other.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (const char letter : from) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < to.size(); ++j) {
      size_t replaced = diagonal + (letter != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[to.size()];
}

constexpr size_t kMatchesMax = 3;

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

std::vector<std::string> near_matches(std::string_view typed, std::span<const std::string> names) {
  if (typed.empty() || typed.size() > kLengthMax) return {};
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const size_t distance = edit_distance(typed, name);
    const bool part = name.contains(typed) || typed.contains(name);
    if (part || distance <= 1 + typed.size() / 4) ranked.emplace_back(part ? 1 : distance, name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> matches;
  for (size_t i = 0; i < std::min(ranked.size(), kMatchesMax); ++i)
    matches.push_back(std::move(ranked[i].second));
  return matches;
}

}  // namespace ktraced
