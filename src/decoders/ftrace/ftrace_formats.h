// SPDX-License-Identifier: BSD-2-Clause
// How events are printed as the kernel's tracer does: the tag FTRACE of bpf/records.h.
//
// A format is text with fields in braces: {prio} by its meaning, or in the form after a colon:
// {pid:comm}, {target_cpu:03}. FormatStep::Kind lists the forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// A piece of an event's text.
struct FormatStep {
  enum class Kind : uint8_t {
    literal,    // literal text
    value,      // the field, formatted by its meaning
    comm,       // name of the thread in the field
    padded,     // decimal, zero-padded to `width` digits
    hex,        // hexadecimal without 0x
    pointer,    // 16 hexadecimal digits
    symbol,     // function and offset at the address
    truth,      // "true" or "false"
    accounted,  // whether the allocation flags contain __GFP_ACCOUNT
    status,     // how a task ended: "exit 3", "SIGSEGV"
  };
  Kind kind = Kind::literal;
  std::string text;  // literal
  Field field;
  size_t width = 0;
};

// The steps for an event: its format, or "name=value" for each field if it has none, or one that
// this version cannot read.
[[nodiscard]] std::vector<FormatStep> ftrace_format_of(const Event& event);

// Parses a format like "comm={pid:comm} target_cpu={target_cpu:03}". Nothing if it contains an
// unknown field or kind.
[[nodiscard]] std::optional<std::vector<FormatStep>> parse_format(std::string_view format,
                                                                  const Event& event);

}  // namespace ktraced
