#include "ctl/text_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ktraced {

namespace {

constexpr size_t kMaxMatches = 3;

// Insertions, deletions and replacements that make one string the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> near_matches(std::string_view typed, std::span<const std::string> names) {
  constexpr size_t kLongest = 64;  // what is longer is no name that was mistyped
  if (typed.empty() || typed.size() > kLongest) return {};
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    size_t distance = edit_distance(typed, name);
    bool part = name.contains(typed) || typed.contains(name);
    if (part || distance <= 1 + typed.size() / 4) ranked.emplace_back(part ? 1 : distance, name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> matches;
  for (size_t i = 0; i < std::min(ranked.size(), kMaxMatches); ++i)
    matches.push_back(std::move(ranked[i].second));
  return matches;
}

}  // namespace ktraced
