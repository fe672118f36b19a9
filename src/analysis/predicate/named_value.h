// SPDX-License-Identifier: BSD-2-Clause
// The numbers of names in predicates: ENOENT, SIGKILL, GFP_KERNEL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// The value of a field of that meaning with this name; nothing if there is none. Of a syscall_ret,
// the errno, which is a positive number; of an exit_code, the signal. Not for syscall_nr and
// sig_code: their names depend on the record's ABI and signal.
[[nodiscard]] std::optional<uint64_t> named_value(Meaning meaning, std::string_view name,
                                                  const Schema& schema);

// The names of the values of fields of that meaning, to suggest similar ones; empty: too many, or
// none.
[[nodiscard]] std::vector<std::string> value_names(Meaning meaning, const Schema& schema);

// Do fields of that meaning have names?
[[nodiscard]] bool has_named_values(Meaning meaning);

}  // namespace ktraced
