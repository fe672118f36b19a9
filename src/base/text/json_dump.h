// SPDX-License-Identifier: BSD-2-Clause
// JSON documents as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ktraced {

// The document as JSON, which is UTF-8: in its texts and keys each byte that is not UTF-8 becomes
// U+FFFD, as with_replacements() has it, so that texts of different lengths stay different.
// Keys that would be equal get more of them.
// `indent`: spaces for each level; -1: on one line. `ascii`: other characters become \uXXXX.
[[nodiscard]] std::string dump_json(const nlohmann::json& document, int indent = -1,
                                    bool ascii = false);

}  // namespace ktraced
