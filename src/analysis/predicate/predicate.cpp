// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/predicate.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/coverage/call_result.h"
#include "analysis/coverage/comm.h"
#include "base/text/suggest.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

enum class Truth : uint8_t { no, unknown, yes };

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }

bool compare(Operator op, const PredicateNumber& left, const PredicateNumber& right) {
  switch (op) {
    case Operator::equal:
    case Operator::in:
      return left == right;
    case Operator::not_equal:
      return left != right;
    case Operator::less:
      return left < right;
    case Operator::less_equal:
      return left <= right;
    case Operator::greater:
      return left > right;
    case Operator::greater_equal:
      return left >= right;
    case Operator::has_bits:
      return (left.bits & right.bits) != 0;
    case Operator::like:
      break;
  }
  return false;
}

// ---- evaluation ----

// The value of the field that the meaning of another one depends on; 0 if there is none.
uint64_t context_in(const FieldReference& left, RecordView record) {
  return left.context ? integer_of(*left.context, record).value_or(0) : 0;
}

// The part of a field's value that the predicate compares; nothing if it is absent.
std::optional<PredicateNumber> part_of(const FieldReference& left, RecordView record,
                                       uint64_t bits) {
  const auto number = static_cast<int64_t>(bits);
  const ExitStatus end = decode_exit_code(static_cast<int32_t>(bits));
  switch (left.part) {
    case FieldPart::error:
      if (const auto error = error_of_call(static_cast<int32_t>(context_in(left, record)), number);
          error != 0)
        return PredicateNumber{.bits = static_cast<uint64_t>(error)};
      return std::nullopt;
    case FieldPart::exit_status:
      if (end.signal != 0) return std::nullopt;
      return PredicateNumber{.bits = static_cast<uint64_t>(end.status)};
    case FieldPart::exit_signal:
      if (end.signal == 0) return std::nullopt;
      return PredicateNumber{.bits = static_cast<uint64_t>(end.signal)};
    case FieldPart::exit_core:
      return PredicateNumber{.bits = end.core ? 1U : 0U};
    case FieldPart::value:
      break;
  }
  return PredicateNumber{.bits = bits, .negative = left.field.is_signed && number < 0};
}

std::optional<PredicateNumber> number_in(const FieldReference& left,
                                         const PredicateSubject& subject) {
  switch (left.source) {
    case PredicateSource::field:
      if (const auto bits = integer_of(left.field, subject.record))
        return part_of(left, subject.record, *bits);
      return std::nullopt;
    case PredicateSource::cpu:
      return PredicateNumber{.bits = subject.cpu};
    case PredicateSource::tid:
      return PredicateNumber{.bits = subject.record.tid()};
    case PredicateSource::pid:
      if (const TaskName* task = subject.names.task_at(subject.record.tid(), subject.record.ts()))
        return PredicateNumber{.bits = task->tgid};
      return subject.record.tid() == 0 ? std::optional(PredicateNumber{}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool compare_call(const BoundPredicate& node, const PredicateNumber& number,
                  const PredicateValue& value, uint64_t abi) {
  const auto& call = value.call[abi < value.call.size() ? abi : 0];
  if (!call) return node.op == Operator::not_equal;
  return compare(node.op, number,
                 {.bits = static_cast<uint64_t>(int64_t{*call}), .negative = *call < 0});
}

Truth test_number(const BoundPredicate& node, const PredicateSubject& subject) {
  const auto number = number_in(node.left, subject);
  if (!number) return Truth::unknown;
  if (node.kind == Expression::Kind::nonzero) return truth(number->bits != 0);
  const auto context = [&] { return context_in(node.left, subject.record); };
  const auto matches = [&](const PredicateValue& value) {
    if (value.is_call) return compare_call(node, *number, value, context());
    if (value.signal != 0 && static_cast<int32_t>(context()) != value.signal)
      return node.op == Operator::not_equal;
    if (!value.is_signal) return compare(node.op, *number, value.number);
    const auto signal = decode_exit_code(static_cast<int32_t>(number->bits)).signal;
    return compare(node.op, {.bits = static_cast<uint64_t>(signal)}, value.number);
  };
  return truth(std::ranges::any_of(node.values, matches));
}

Truth test_text(const BoundPredicate& node, const PredicateSubject& subject) {
  CommScratch scratch;
  std::string words;
  std::optional<std::string_view> text;
  if (node.left.source == PredicateSource::event) {
    text = node.event;
  } else if (node.left.source == PredicateSource::context) {
    text = context_name(subject.record.context());
    if (text->empty()) return Truth::unknown;
  } else if (node.left.source == PredicateSource::field) {
    text = shown_text(node.left.field, subject.record, words);
  } else {
    const auto tid = node.left.source == PredicateSource::comm_of_field
                         ? integer_of(node.left.field, subject.record)
                         : std::optional<uint64_t>(subject.record.tid());
    if (!tid) return Truth::unknown;
    text = comm_at(subject.names, static_cast<uint32_t>(*tid), subject.record.ts(), subject.cpu,
                   scratch);
  }
  if (!text) return Truth::unknown;
  const auto matches = [&](const PredicateValue& value) {
    if (node.op == Operator::not_equal) return *text != value.text;
    if (node.op != Operator::like) return *text == value.text;
    return ::fnmatch(value.text.c_str(), std::string(*text).c_str(), FNM_NOESCAPE) == 0;
  };
  return truth(std::ranges::any_of(node.values, matches));
}

Truth test(const BoundPredicate& node, const PredicateSubject& subject) {
  switch (node.kind) {
    case Expression::Kind::any_of: {
      Truth any = Truth::no;
      for (const BoundPredicate& operand : node.operands)
        any = std::max(any, test(operand, subject));
      return any;
    }
    case Expression::Kind::all_of: {
      Truth all = Truth::yes;
      for (const BoundPredicate& operand : node.operands) {
        all = std::min(all, test(operand, subject));
        if (all == Truth::no) break;
      }
      return all;
    }
    case Expression::Kind::negation: {
      const Truth operand = test(node.operands.front(), subject);
      if (operand == Truth::unknown) return operand;
      return truth(operand == Truth::no);
    }
    case Expression::Kind::comparison:
    case Expression::Kind::nonzero:
      break;
  }
  if (node.left.source == PredicateSource::none) return Truth::unknown;
  return node.left.is_text() ? test_text(node, subject) : test_number(node, subject);
}

// Can the expression be true, or with `negated` false, of a record with these fields?
bool can_be(const BoundPredicate& node, bool negated) {
  const auto operand_can = [negated](const BoundPredicate& operand) {
    return can_be(operand, negated);
  };
  switch (node.kind) {
    case Expression::Kind::any_of:
      return negated ? std::ranges::all_of(node.operands, operand_can)
                     : std::ranges::any_of(node.operands, operand_can);
    case Expression::Kind::all_of:
      return negated ? std::ranges::any_of(node.operands, operand_can)
                     : std::ranges::all_of(node.operands, operand_can);
    case Expression::Kind::negation:
      return can_be(node.operands.front(), !negated);
    case Expression::Kind::comparison:
    case Expression::Kind::nonzero:
      break;
  }
  return node.left.source != PredicateSource::none;
}

// Each comparison must be possible with the fields of some event.
Result<> check_fields(std::string_view text, const Expression& expression, const Schema& schema,
                      std::string_view listed) {
  for (const Expression& operand : expression.operands)
    if (auto checked = check_fields(text, operand, schema, listed); !checked) return checked;
  if (expression.field.empty()) return {};
  std::set<std::string> known;
  for (const std::string_view name : predicate_names()) known.emplace(name);
  std::optional<Error> failure;
  for (const Event& event : schema.events()) {
    add_reference_names(event, known);
    if (!has_field(event, expression.field)) continue;
    auto bound = bind_predicate(text, expression, event, schema);
    if (bound) return {};
    if (!failure) failure = bound.error();
  }
  if (failure) return std::unexpected(*failure);
  if (expression.field == "ts" || expression.field == "time" || expression.field == "wall")
    listed = "times are selected by --since, --until and --last";
  return predicate_error(text, expression.place,
                         unknown_name("field", expression.field, known, listed));
}

bool names(const Expression& expression, std::string_view field) {
  return expression.field == field ||
         std::ranges::any_of(expression.operands,
                             [field](const Expression& each) { return names(each, field); });
}

}  // namespace

Result<Predicate> Predicate::make(std::string_view text, const Schema& schema,
                                  std::string_view listed) {
  auto expression = parse_expression(text);
  if (!expression) return propagate(expression);
  if (auto checked = check_fields(text, *expression, schema, listed); !checked)
    return propagate(checked);
  Predicate predicate(text, std::move(*expression), schema);
  for (const Event& event : schema.events()) predicate.learn(event);
  if (std::ranges::none_of(predicate.by_event_,
                           [](const auto& bound) { return can_be(*bound.second, false); }))
    return predicate_error(text, 0, "no event has these fields together");
  return predicate;
}

void Predicate::learn_fields(const Expression& expression, const Event& event) {
  for (const Expression& operand : expression.operands) learn_fields(operand, event);
  if (!expression.field.empty() && is_stored_field(event, expression.field))
    fields_[expression.field].insert(event.name);
}

void Predicate::learn(const Event& event) {
  learn_fields(expression_, event);
  auto bound = bind_predicate(text_, expression_, event, flags_);
  if (bound)
    by_event_[event.id] = std::make_shared<const BoundPredicate>(std::move(*bound));
  else
    by_event_.erase(event.id);
}

bool Predicate::lacks_contexts() const {
  return !flags_.contexts && !fields_.contains("context") && names(expression_, "context");
}

bool Predicate::can_match(uint32_t event_id) const {
  const auto found = by_event_.find(event_id);
  return found != by_event_.end() && can_be(*found->second, false);
}

bool Predicate::matches(const PredicateSubject& subject) const {
  const auto found = by_event_.find(subject.record.id());
  return found != by_event_.end() && test(*found->second, subject) == Truth::yes;
}

}  // namespace ktraced
