// SPDX-License-Identifier: BSD-2-Clause
// What the left side of a comparison in a predicate means for one event.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// Where the left side comes from; none: the event does not have it.
enum class PredicateSource : uint8_t {
  none,
  field,
  comm_of_field,
  cpu,
  tid,
  pid,
  comm,
  context,
  event
};

// What of the field's value is compared. All but the first are absent of some values: the error of
// a call that succeeds.
enum class FieldPart : uint8_t { value, error, exit_status, exit_signal, exit_core };

// A field or a value of the record itself: "ret", "args.pid", "cpu"; or an annotation of a field,
// as JSON has it: "syscall", "sig_name", "error", "prev_comm", "exit_signal".
struct FieldReference {
  PredicateSource source = PredicateSource::none;
  FieldPart part = FieldPart::value;
  bool is_annotation = false;
  Field field;                   // with its named_meaning()
  std::optional<Field> context;  // see context_of()

  [[nodiscard]] bool is_text() const;
  // The meaning by which the numbers have names; Meaning::number for those of the record itself.
  [[nodiscard]] Meaning meaning() const;
};

[[nodiscard]] FieldReference refer(const Event& event, std::string_view name);

// The names of the record's own values: cpu, tid, pid, comm, context, event.
[[nodiscard]] std::vector<std::string_view> predicate_names();
// Adds the names that refer to something of the event, without the record's own.
void add_reference_names(const Event& event, std::set<std::string>& names);
// Does the event have this field, or is it the record's own?
[[nodiscard]] bool has_field(const Event& event, std::string_view name);
// Does the event have this field, other than the record's own?
[[nodiscard]] bool is_stored_field(const Event& event, std::string_view name);

}  // namespace ktraced
