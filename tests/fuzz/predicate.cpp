// SPDX-License-Identifier: BSD-2-Clause
// An expression of --where and records. A record never matches both an expression and its
// negation, and matches "E && E" exactly if it matches E. What is refused has a message.
#include "analysis/predicate/predicate.h"

#include <fmt/format.h>

#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"

namespace ktraced::fuzz {

void check_input(std::string_view input) {
  const auto parts = parts_of(input, 2);
  const TraceReader& trace = golden_trace();
  const auto predicate = Predicate::make(parts[0], trace.schema());
  if (!predicate) return require_error(predicate.error(), ExitCode::usage);
  const auto negation = Predicate::make(fmt::format("!({})", parts[0]), trace.schema());
  const auto twice = Predicate::make(fmt::format("({0}) && ({0})", parts[0]), trace.schema());
  for_each_record(parts[1], [&](RecordView record) {
    const PredicateSubject subject{.record = record, .cpu = 1, .names = trace.names()};
    const bool matches = predicate->matches(subject);
    require(!matches || predicate->can_match(record.id()), "what matches can match");
    // Longer ones may be refused.
    if (negation) require(!(matches && negation->matches(subject)), "not both it and its negation");
    if (twice) require(matches == twice->matches(subject), "twice is the same as once");
  });
}

}  // namespace ktraced::fuzz
