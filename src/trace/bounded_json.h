// SPDX-License-Identifier: BSD-2-Clause
// JSON that somebody else wrote: parsed without recursion, and only up to a size.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

struct JsonLimits {
  size_t depth = 64;                 // levels of objects and lists: copying and printing recurse
  size_t values = size_t{8} << 20;   // in memory at one time
  size_t entries = size_t{1} << 16;  // of one list or object
};

// What `in` holds up to its end. Members whose key is one of `skipped`, wherever they are, are left
// out. Fails with ExitCode::data; the message says what is wrong with the text, and goes on after
// the name of the file: "is damaged at byte 7: it is not JSON".
[[nodiscard]] Result<nlohmann::json> parse_json(std::FILE* in, const JsonLimits& limits = {},
                                                std::span<const std::string_view> skipped = {});
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text,
                                                const JsonLimits& limits = {});

// Of {"NAME":[entry,…]} or {"NAME":{key:entry,…}}: gives `take` each entry (key: the list's name or
// the entry's own) and keeps none. Returns the document without its entries; fails as parse_json().
using TakeJsonEntry = std::function<void(const std::string& key, nlohmann::json&& entry)>;
[[nodiscard]] Result<nlohmann::json> parse_json_entries(std::FILE* in, const JsonLimits& limits,
                                                        const TakeJsonEntry& take);

}  // namespace ktraced
