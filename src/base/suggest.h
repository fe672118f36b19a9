// "Did you mean …?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ktraced {

// The candidate that `name` is most likely a misspelling of; nothing if none is near.
// The result refers to the candidate.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view name,
                                                      std::span<const std::string_view> candidates);

// "; did you mean 'NAME'?", or nothing: to be put at the end of a message.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     std::span<const std::string_view> candidates);

}  // namespace ktraced
