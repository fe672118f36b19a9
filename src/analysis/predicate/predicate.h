// SPDX-License-Identifier: BSD-2-Clause
// Does a record match an expression over its fields?
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/predicate/bound_predicate.h"
#include "base/error.h"
#include "schema/schema.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// A record and what is known of it beside its bytes.
struct PredicateSubject {
  RecordView record;
  uint32_t cpu = 0;
  const NameTable& names;
};

// An expression, bound to the fields of the events. `cpu`, `tid`, `pid` (the process), `comm` and
// `event` are those of the record itself; a field of the same name is args.NAME. A comparison with
// a field that an event does not have is neither true nor false, and a record matches only if the
// whole expression is true.
class Predicate {
 public:
  static constexpr std::string_view kListedByDaemon =
      "'ktracectl events list -v' lists those of each event";

  // Fails with ExitCode::usage, and says where: a syntax error, a field that no event has, a value
  // that no event's field can have, fields that no event has together. `listed`: where the fields
  // are listed, for the message about an unknown one.
  static Result<Predicate> make(std::string_view text, const Schema& schema,
                                std::string_view listed = kListedByDaemon);

  // Adds an event that was defined later. One whose fields do not fit the values never matches.
  void learn(const Event& event);
  [[nodiscard]] bool matches(const PredicateSubject& subject) const;
  // False if no record of the event matches, because it does not have the fields.
  [[nodiscard]] bool can_match(uint32_t event_id) const;
  // The names of the fields in the expression, without the record's own, and the events that have
  // each.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& fields() const {
    return fields_;
  }
  // Does it ask for the context of records, which those of this schema do not have?
  [[nodiscard]] bool lacks_contexts() const;

 private:
  Predicate(std::string_view text, Expression expression, const Schema& schema)
      : text_(text), expression_(std::move(expression)) {
    flags_.gfp_flags = schema.gfp_flags;
    flags_.contexts = schema.contexts;
  }
  void learn_fields(const Expression& expression, const Event& event);

  std::string text_;
  Expression expression_;
  Schema flags_;  // without events
  std::map<std::string, std::set<std::string>> fields_;
  std::unordered_map<uint32_t, std::shared_ptr<const BoundPredicate>> by_event_;
};

}  // namespace ktraced
