// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/bound_predicate.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "analysis/predicate/named_value.h"
#include "base/text/suggest.h"
#include "bpf/records.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

bool is_order(Operator op) {
  return op == Operator::less || op == Operator::less_equal || op == Operator::greater ||
         op == Operator::greater_equal;
}

bool is_flags(Meaning meaning) {
  return meaning == Meaning::gfp_flags || meaning == Meaning::clone_flags ||
         meaning == Meaning::sa_flags;
}

// Binds an expression to one event.
class Binder {
 public:
  Binder(std::string_view text, const Event& event, const Schema& schema)
      : text_(text), event_(event), schema_(schema) {}

  Result<BoundPredicate> bind(const Expression& expression) {
    BoundPredicate node;
    node.kind = expression.kind;
    for (const Expression& operand : expression.operands) {
      auto bound = bind(operand);
      if (!bound) return bound;
      node.operands.push_back(std::move(*bound));
    }
    if (expression.field.empty()) return node;
    node.event = event_.name;
    node.left = refer(event_, expression.field);
    if (node.left.source == PredicateSource::none) return node;
    if (auto checked = check(expression, node); !checked) return propagate(checked);
    node.op = expression.op;
    if (node.op == Operator::like && !node.left.is_text()) return with_names_like(expression, node);
    for (const Literal& literal : expression.values) {
      auto value = value_of(literal, node);
      if (!value) return propagate(value);
      node.values.push_back(std::move(*value));
    }
    return node;
  }

 private:
  [[nodiscard]] Result<> check(const Expression& expression, const BoundPredicate& node) const {
    const auto error = [&](const char* what) {
      return predicate_error(text_, expression.place, fmt::format("{} {}", expression.field, what));
    };
    if (node.left.is_text()) {
      if (expression.kind == Expression::Kind::nonzero)
        return error("is a text: compare it with ==, !=, ~ or in");
      if (is_order(expression.op) || expression.op == Operator::has_bits)
        return error("is a text, which has no order and no bits");
      return {};
    }
    if (node.left.source == PredicateSource::field && !is_scalar(node.left.field))
      return error("is a list, which cannot be compared");
    if (expression.op != Operator::like) return {};
    if (!node.left.is_annotation || value_names(node.left.meaning(), schema_).empty())
      return error("is a number: ~ is for texts");
    if (is_flags(node.left.meaning())) return error("has several names: use & NAME");
    return {};
  }

  // Compares an annotation, which is a text in JSON, with all names that match the pattern.
  [[nodiscard]] Result<BoundPredicate> with_names_like(const Expression& expression,
                                                       BoundPredicate node) const {
    const Literal& pattern = expression.values.front();
    if (pattern.kind == Literal::Kind::number || pattern.negative)
      return predicate_error(text_, pattern.place, "expected a text in quotes");
    node.op = Operator::in;
    std::set<std::string> names;
    for (std::string& name : value_names(node.left.meaning(), schema_))
      if (::fnmatch(pattern.text.c_str(), name.c_str(), FNM_NOESCAPE) == 0)
        names.insert(std::move(name));
    for (const std::string& name : names) {
      Literal literal = pattern;
      literal.kind = Literal::Kind::name;
      literal.text = name;
      auto value = named(literal, node);
      if (!value) return propagate(value);
      node.values.push_back(std::move(*value));
    }
    if (!node.values.empty()) return node;
    return predicate_error(text_, pattern.place, "no value of this field has such a name");
  }

  [[nodiscard]] Result<> check_context(const Literal& literal, const BoundPredicate& node) const {
    if (node.left.source != PredicateSource::context) return {};
    std::set<std::string> names;
    for (uint32_t context = CONTEXT_TASK; context <= RECORD_CONTEXT; ++context)
      names.emplace(context_name(context));
    const auto means = [&](const std::string& name) {
      if (node.op != Operator::like) return name == literal.text;
      return ::fnmatch(literal.text.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
    };
    if (std::ranges::any_of(names, means)) return {};
    return predicate_error(text_, literal.place, unknown_name("context", literal.text, names));
  }

  // The name of an event must be one of the schema's, if it has any.
  [[nodiscard]] Result<> check_event(const Literal& literal, const BoundPredicate& node) const {
    if (node.left.source != PredicateSource::event || schema_.events().empty()) return {};
    const auto means = [&](const Event& event) {
      if (node.op != Operator::like) return event.name == literal.text;
      return ::fnmatch(literal.text.c_str(), event.name.c_str(), FNM_NOESCAPE) == 0;
    };
    const auto& events = schema_.events();
    if (std::ranges::any_of(events, means)) return {};
    if (node.op == Operator::like)
      return predicate_error(text_, literal.place, "no event has such a name");
    if (std::ranges::find(events, literal.text, &Event::group) != events.end())
      return predicate_error(
          text_, literal.place,
          fmt::format("'{}' is a group of events: use --event {}", literal.text, literal.text));
    std::vector<std::string> names;
    std::ranges::transform(events, std::back_inserter(names), &Event::name);
    return predicate_error(text_, literal.place, unknown_name("event", literal.text, names));
  }

  // A signed field never equals the bits of a negative number written without a sign.
  [[nodiscard]] Result<> check_sign(const Literal& literal, const BoundPredicate& node) const {
    const Field& field = node.left.field;
    if (node.left.source != PredicateSource::field || node.left.part != FieldPart::value ||
        !field.is_signed || literal.negative || node.op == Operator::has_bits)
      return {};
    const auto bits = static_cast<uint64_t>(literal.number);
    const bool is_word = field.size == sizeof(int32_t);
    if (bits <= (is_word ? uint64_t{INT32_MAX} : uint64_t{INT64_MAX})) return {};
    if (is_word && bits > UINT32_MAX) return {};
    const int64_t meant = is_word ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
    return predicate_error(
        text_, literal.place,
        fmt::format("{} is a signed number; did you mean {}?", field.name, meant));
  }

  [[nodiscard]] Result<PredicateValue> value_of(const Literal& literal,
                                                const BoundPredicate& node) const {
    PredicateValue value;
    if (node.left.is_text()) {
      if (literal.kind == Literal::Kind::number || literal.negative)
        return predicate_error(text_, literal.place, "expected a text in quotes");
      if (auto known = check_event(literal, node); !known) return propagate(known);
      if (auto known = check_context(literal, node); !known) return propagate(known);
      value.text = literal.text;
      return value;
    }
    if (literal.kind == Literal::Kind::text && !node.left.is_annotation)
      return predicate_error(text_, literal.place, "expected a number or a name without quotes");
    if (literal.kind == Literal::Kind::number) {
      if (auto possible = check_sign(literal, node); !possible) return propagate(possible);
      const auto bits = static_cast<uint64_t>(literal.number);
      value.number = {.bits = bits, .negative = literal.negative && bits != 0};
      return value;
    }
    return named(literal, node);
  }

  [[nodiscard]] Result<PredicateValue> named(const Literal& literal,
                                             const BoundPredicate& node) const {
    const Meaning meaning = node.left.meaning();
    if (meaning == Meaning::syscall_nr && !literal.negative) return call_named(literal);
    if (meaning == Meaning::sig_code && !literal.negative) return code_named(literal);
    const auto number = named_value(meaning, literal.text, schema_);
    if (!number) return unknown(literal, meaning);
    if (meaning == Meaning::syscall_ret && !literal.negative)
      return predicate_error(text_, literal.place,
                             fmt::format("a call that fails returns -{}", literal.text));
    if (meaning == Meaning::errno_nr && literal.negative)
      return predicate_error(text_, literal.place,
                             fmt::format("it is a positive number: write {}", literal.text));
    const bool is_end = meaning == Meaning::exit_code;
    if (is_end && (is_order(node.op) || node.op == Operator::has_bits))
      return predicate_error(text_, literal.place, "compare a signal with ==, != or in");
    PredicateValue value;
    value.number = {.bits = literal.negative ? 0 - *number : *number,
                    .negative = literal.negative && *number != 0};
    value.is_signal = is_end;
    return value;
  }

  [[nodiscard]] Result<PredicateValue> call_named(const Literal& literal) const {
    PredicateValue value;
    value.is_call = true;
    for (uint32_t abi = 0; abi < value.call.size(); ++abi)
      value.call[abi] = syscall_number(abi, literal.text);
    if (std::ranges::any_of(value.call, [](const auto& number) { return number.has_value(); }))
      return value;
    return predicate_error(
        text_, literal.place,
        fmt::format("there is no system call '{}'{}", literal.text,
                    suggestion(literal.text, value_names(Meaning::syscall_nr, schema_))));
  }

  [[nodiscard]] Result<PredicateValue> code_named(const Literal& literal) const {
    const auto codes = signal_codes();
    const auto code = std::ranges::find(codes, literal.text, &SignalCode::name);
    if (code == codes.end()) return unknown(literal, Meaning::sig_code);
    PredicateValue value;
    value.number = {.bits = static_cast<uint64_t>(int64_t{code->code}), .negative = code->code < 0};
    value.signal = code->signal;
    return value;
  }

  [[nodiscard]] std::unexpected<Error> unknown(const Literal& literal, Meaning meaning) const {
    return predicate_error(
        text_, literal.place,
        has_named_values(meaning)
            ? fmt::format("'{}' is not a name of a value of this field{}", literal.text,
                          suggestion(literal.text, value_names(meaning, schema_)))
            : "expected a number: the values of this field have no names");
  }

  std::string_view text_;
  const Event& event_;
  const Schema& schema_;
};

}  // namespace

Result<BoundPredicate> bind_predicate(std::string_view text, const Expression& expression,
                                      const Event& event, const Schema& schema) {
  return Binder(text, event, schema).bind(expression);
}

}  // namespace ktraced
