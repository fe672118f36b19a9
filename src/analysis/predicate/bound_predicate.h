// SPDX-License-Identifier: BSD-2-Clause
// A predicate bound to the fields of one event.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/predicate/expression.h"
#include "schema/schema.h"

namespace ktraced {

// An integer of 64 bits, signed or not.
struct PredicateNumber {
  uint64_t bits = 0;
  bool negative = false;

  bool operator==(const PredicateNumber&) const = default;
  std::strong_ordering operator<=>(const PredicateNumber& other) const {
    if (negative != other.negative)
      return negative ? std::strong_ordering::less : std::strong_ordering::greater;
    return bits <=> other.bits;  // of two negative ones too: two's complement
  }
};

// What a field is compared with. The number of a system call depends on the ABI.
struct PredicateValue {
  PredicateNumber number;
  std::string text;
  std::array<std::optional<int32_t>, 3> call;  // by syscall_abi_t, if `is_call`
  bool is_call = false;
};

// Where the left side of a comparison comes from; none: the event does not have it.
enum class PredicateSource : uint8_t { none, field, cpu, tid, pid, comm, event };

// A part of the expression.
struct BoundPredicate {
  Expression::Kind kind = Expression::Kind::nonzero;
  std::vector<BoundPredicate> operands;
  PredicateSource source = PredicateSource::none;
  Field field;
  std::optional<Field> abi;  // of a system call's number
  std::string event;         // its name
  Operator op = Operator::equal;
  std::vector<PredicateValue> values;

  // Is the left side a text?
  [[nodiscard]] bool is_text() const {
    return source == PredicateSource::comm || source == PredicateSource::event ||
           (source == PredicateSource::field && field.meaning == Meaning::text);
  }
};

// The names of the record's own values: cpu, tid, pid, comm, event.
[[nodiscard]] std::vector<std::string_view> predicate_names();

// Binds an expression, which was parsed from `text`, to an event. Fails with ExitCode::usage for a
// value that a field of the event cannot have; a field that the event lacks is no error.
[[nodiscard]] Result<BoundPredicate> bind_predicate(std::string_view text,
                                                    const Expression& expression,
                                                    const Event& event, const Schema& schema);
// Does the event have this field, or is it the record's own?
[[nodiscard]] bool has_field(const Event& event, std::string_view name);
// Does the event have this field, other than the record's own?
[[nodiscard]] bool is_stored_field(const Event& event, std::string_view name);

}  // namespace ktraced
