// SPDX-License-Identifier: BSD-2-Clause
// Numbers whose names are known although the schema calls them plain numbers.
#pragma once

#include "schema/schema.h"

namespace ktraced {

// The meaning by which the values of the event's field have names. It differs from the field's own
// for words of flags that the kernel's format declares as integers (clone_flags of task_newtask),
// and for sa_flags of signal_deliver. Only for texts: JSON, CTF and SQL keep the field's own.
[[nodiscard]] Meaning named_meaning(const Event& event, const Field& field);

// The event with these meanings.
[[nodiscard]] Event with_named_meanings(Event event);

}  // namespace ktraced
