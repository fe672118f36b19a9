// SPDX-License-Identifier: BSD-2-Clause
// Annotations: texts beside a number in JSON, so that it can be read without tables.
#pragma once

#include <optional>
#include <string>

#include "schema/schema.h"

namespace ktraced {

// The key of a field's annotation: "prev_comm" for the thread prev_pid, "gfp_flags_names",
// "sig_name". Empty if fields of this meaning have none. The rules are in docs/output.md.
[[nodiscard]] std::string annotation_of(const Field& field);

// The field that the texts of fields with this meaning depend on: the ABI of a system call's
// number, the number of its result, the signal of a code. Nothing if they depend on none.
[[nodiscard]] std::optional<Field> context_of(const Event& event, Meaning meaning);

// The keys of the three annotations of an exit code: for "exit_code" "exit_status" or
// "exit_signal", and "exit_core".
struct ExitAnnotations {
  std::string status, signal, core;
};
[[nodiscard]] ExitAnnotations exit_annotations_of(const Field& field);

}  // namespace ktraced
