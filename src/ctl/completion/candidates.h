// SPDX-License-Identifier: BSD-2-Clause
// The values that exist of each kind.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/completion/cursor.h"
#include "ctl/completion/value_kind.h"

namespace ktraced {

struct Candidate {
  std::string value;
  std::string description;
};

// The result of a method of the daemon; null if there is no daemon or it does not answer in time.
using AskDaemon =
    std::function<nlohmann::json(std::string_view method, const nlohmann::json& params)>;

// All values of a kind, in no particular order, also those that do not match the word at the
// cursor. None of a kind that the shell completes itself.
[[nodiscard]] std::vector<Candidate> candidates(ValueKind kind, const Cursor& cursor,
                                                const AskDaemon& ask);

}  // namespace ktraced
