// SPDX-License-Identifier: BSD-2-Clause
// What stands beside a number in JSON, so that it can be read without tables.
#pragma once

#include <string>

#include "schema/schema.h"

namespace ktraced {

// Key of the member that explains a field: "prev_comm" for the thread prev_pid,
// "gfp_flags_names", "sig_name". Empty if a field of this meaning has none. The
// rules are written down in docs/output.md.
[[nodiscard]] std::string sibling_of(const Field& field);

// Names of the three members that explain an exit code: for "exit_code"
// "exit_status" or "exit_signal", and "exit_core".
struct ExitSiblings {
  std::string status, signal, core;
};
[[nodiscard]] ExitSiblings exit_siblings_of(const Field& field);

}  // namespace ktraced
