// SPDX-License-Identifier: BSD-2-Clause
// The columns of an event's table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ctl/query/query_table.h"
#include "decoders/ftrace/probe_text.h"
#include "schema/schema.h"

namespace ktraced {

// Where the value of a column comes from.
enum class EventValue : uint8_t {
  absent,  // this version of the event does not have it
  // Every event has these.
  ts,
  wall,
  cpu,
  tid,
  pid,
  comm,
  context,
  // And these if a trace has stacks.
  kernel_stack,
  user_stack,
  // Only the table of all events together has these.
  event,
  args,
  // These come from a field of the event.
  number,
  element,  // of an array with few elements
  list,     // of any other array, as JSON
  text,
  cache,
  annotation,
  exit_status,
  exit_signal,
  exit_core,
  cut,
};

struct EventColumn {
  Column column;
  EventValue value = EventValue::absent;
  std::string field;   // of which it is a value
  uint32_t index = 0;  // of an element
};

// A column's value in the records of one version of an event.
struct FieldAccess {
  EventValue value = EventValue::absent;
  uint32_t index = 0;
  size_t number = 0;  // of the field in the event
  Field field;
  std::optional<Field> context;  // see context_of()
};

struct EventAccess {
  std::vector<FieldAccess> columns;
  std::optional<FailedFields> failed;
};

// ts, wall, cpu, tid, pid, comm, context, and with `stacks` kernel_stack, user_stack: the first
// columns of every event's table.
[[nodiscard]] std::vector<EventColumn> common_columns(bool stacks = false);
// The columns of all versions of an event: the common ones, and for each field its value and its
// annotations, named as in JSON. A name that is already used gets the prefix "arg_".
[[nodiscard]] std::vector<EventColumn> columns_of(std::span<const Event* const> versions,
                                                  bool stacks = false);
// How to read the columns from records of `event`.
[[nodiscard]] EventAccess access_of(std::span<const EventColumn> columns, const Event& event);

}  // namespace ktraced
