// SPDX-License-Identifier: BSD-2-Clause
// Untrusted JSON: parsed without recursion and with size limits.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

struct JsonLimits {
  size_t depth = 64;                // levels of objects and lists: copying and printing recurse
  size_t values = size_t{8} << 20;  // in memory at one time
  // Entries of one list or object; for parse_json_entries(), of all that it takes together.
  size_t entries = size_t{1} << 16;
  // In a file: of one text or number as it is written, with the blanks around it. The parser holds
  // all of them.
  size_t text_bytes = size_t{16} << 20;
};

// Parses `in` to its end. Members whose key is in `skipped` are left out at every level. Fails with
// ExitCode::data, or with ::io if the file cannot be read; the message is to be appended to the
// name of the file: "is damaged at byte 7: it is not JSON". Fails soon after `stop` is requested,
// even in the middle of a long text.
[[nodiscard]] Result<nlohmann::json> parse_json(std::FILE* in, const JsonLimits& limits = {},
                                                std::span<const std::string_view> skipped = {},
                                                const std::stop_token& stop = {});
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text,
                                                const JsonLimits& limits = {});

// Parses {"NAME":[entry,…]} or {"NAME":{key:entry,…}}: calls `take` with each entry (key: the
// list's name or the entry's own) and keeps none. Returns the document without its entries; fails
// as parse_json(), after `take` has had all entries up to the limit.
using TakeJsonEntry = std::function<void(const std::string& key, nlohmann::json&& entry)>;
[[nodiscard]] Result<nlohmann::json> parse_json_entries(std::FILE* in, const JsonLimits& limits,
                                                        const TakeJsonEntry& take);

}  // namespace ktraced
