// SPDX-License-Identifier: BSD-2-Clause
// "unknown event 'kmaloc'; did you mean 'kmalloc'?"
#pragma once

#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// The existing names, from any range of strings, which must outlive it.
class KnownNames {
 public:
  template <std::ranges::input_range Names>
  // NOLINTNEXTLINE(google-explicit-constructor): lets callers pass any range
  KnownNames(const Names& names) : names_(std::ranges::begin(names), std::ranges::end(names)) {}
  KnownNames(std::initializer_list<std::string_view> names) : names_(names) {}

  [[nodiscard]] const std::vector<std::string_view>& all() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

// Up to three of `names` that are similar to `typed`, most similar first: those that differ by the
// fewest letters; if none is near, those that contain it or that it contains. They refer to the
// given names.
[[nodiscard]] std::vector<std::string_view> near_matches(std::string_view typed,
                                                         const KnownNames& names);

// "; did you mean 'NAME'?", or nothing: for the end of a message.
[[nodiscard]] std::string suggestion(std::string_view typed, const KnownNames& names);

// The message for a name that does not exist, the same everywhere: "unknown KIND 'TYPED'; did you
// mean 'NAME'?". If no name is near, `otherwise` says where all of them are listed. Unprintable
// characters in `typed` are escaped, and a long `typed` is truncated.
[[nodiscard]] std::string unknown_name(std::string_view kind, std::string_view typed,
                                       const KnownNames& names, std::string_view otherwise = {});

}  // namespace ktraced
