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
#include "analysis/predicate/field_reference.h"
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

// What a field is compared with.
struct PredicateValue {
  PredicateNumber number;
  std::string text;
  std::array<std::optional<int32_t>, 3> call;  // by syscall_abi_t, if `is_call`
  bool is_call = false;
  int32_t signal = 0;      // of a code that only this signal has; 0: of any
  bool is_signal = false;  // the signal that ends a task, whatever else its exit code says
};

// A part of the expression.
struct BoundPredicate {
  Expression::Kind kind = Expression::Kind::nonzero;
  std::vector<BoundPredicate> operands;
  FieldReference left;
  std::string event;  // its name
  Operator op = Operator::equal;
  std::vector<PredicateValue> values;
};

// Binds an expression, which was parsed from `text`, to an event. Fails with ExitCode::usage for a
// value that a field of the event cannot have; a field that the event lacks is no error.
[[nodiscard]] Result<BoundPredicate> bind_predicate(std::string_view text,
                                                    const Expression& expression,
                                                    const Event& event, const Schema& schema);

}  // namespace ktraced
