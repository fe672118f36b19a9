// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

// Names are short: a longer word is no misspelling of one.
constexpr size_t kLengthMax = 64;
// Shorter words are part of too many names.
constexpr size_t kPartMin = 3;
constexpr size_t kMatchesMax = 3;

// Edit distance: insertions, deletions, replacements and swaps of adjacent letters. Lower and upper
// case are the same.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> before(to.size() + 1), row(to.size() + 1), next(to.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      next[j] = std::min({row[j - 1] + (upper_char(from[i - 1]) != upper_char(to[j - 1])),
                          row[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[to.size()];
}

bool is_part(std::string_view part, std::string_view whole) {
  return part.size() >= kPartMin && whole.contains(part);
}

// The typed word, made safe for one line.
std::string shown(std::string_view typed) {
  std::string out;
  for (size_t letters = 0; !typed.empty(); ++letters) {
    if (letters == kLengthMax) return out + "…";
    const size_t length = utf8_length(typed);
    const std::string_view letter = typed.substr(0, std::max<size_t>(1, length));
    if (length == 0 || !unfit_for_a_line(letter).empty())
      for (const char byte : letter)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else
      out += letter;
    typed.remove_prefix(letter.size());
  }
  return out;
}

}  // namespace

std::vector<std::string_view> near_matches(std::string_view typed, const KnownNames& names) {
  if (typed.empty() || typed.size() > kLengthMax) return {};
  using Ranked = std::pair<size_t, std::string_view>;
  std::vector<Ranked> near, parts;
  for (const std::string_view name : names.all()) {
    if (typed == name) continue;  // it exists, but not in this place
    const size_t distance = edit_distance(typed, name);
    if (distance <= 1 + typed.size() / 4 && distance < name.size())
      near.emplace_back(distance, name);
    else if (is_part(typed, name) || is_part(name, typed))
      parts.emplace_back(distance, name);
  }
  std::vector<Ranked>& ranked = near.empty() ? parts : near;
  std::ranges::stable_sort(ranked, {}, &Ranked::first);
  std::vector<std::string_view> matches;
  for (const auto& [distance, name] : ranked) {
    if (matches.size() == kMatchesMax || (!near.empty() && distance != near.front().first)) break;
    if (std::ranges::find(matches, name) == matches.end()) matches.push_back(name);
  }
  return matches;
}

std::string suggestion(std::string_view typed, const KnownNames& names) {
  auto near = near_matches(typed, names);
  if (near.empty()) return {};
  const std::string_view last = near.back();
  near.pop_back();
  if (near.empty()) return fmt::format("; did you mean '{}'?", last);
  return fmt::format("; did you mean '{}' or '{}'?", fmt::join(near, "', '"), last);
}

std::string unknown_name(std::string_view kind, std::string_view typed, const KnownNames& names,
                         std::string_view otherwise) {
  std::string remedy = suggestion(typed, names);
  if (remedy.empty() && !otherwise.empty()) remedy = fmt::format("; {}", otherwise);
  return fmt::format("unknown {} '{}'{}", kind, shown(typed), remedy);
}

}  // namespace ktraced
