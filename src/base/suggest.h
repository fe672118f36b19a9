// "Did you mean …?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// The candidate that `name` is most likely a misspelling of; nothing if none is near.
// The result refers to the candidate.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view name,
                                                      std::span<const std::string_view> candidates);

// "; did you mean 'NAME'?", or nothing: to be put at the end of a message.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     std::span<const std::string_view> candidates);

// Up to three of `names` that may be meant by `typed`, likeliest first: also those that
// contain it or that it contains.
[[nodiscard]] std::vector<std::string> near_matches(std::string_view typed,
                                                    std::span<const std::string> names);

}  // namespace ktraced
