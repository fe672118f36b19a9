// SPDX-License-Identifier: BSD-2-Clause
// How the kernel prints its own events.
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
    literal,    // text as it stands
    value,      // the field as its meaning is shown
    comm,       // name of the thread in the field
    padded,     // decimal, zeros up to `width` digits
    hex,        // hexadecimal without 0x
    pointer,    // 16 hexadecimal digits
    symbol,     // function and offset at the address
    truth,      // "true" or "false"
    accounted,  // allocation flags: is __GFP_ACCOUNT among them
  };
  Kind kind = Kind::literal;
  std::string text;  // literal
  Field field;
  size_t width = 0;
};

// The steps for an event: as the kernel prints it, or for an event that the
// kernel does not have " name=value" for each field.
[[nodiscard]] std::vector<FormatStep> ftrace_format_of(const Event& event);

// Steps of a format like "comm={pid:comm} target_cpu={target_cpu:03}". Nothing
// if it names a field that the event does not have or a kind that does not exist.
[[nodiscard]] std::optional<std::vector<FormatStep>> parse_format(std::string_view format,
                                                                  const Event& event);

}  // namespace ktraced
