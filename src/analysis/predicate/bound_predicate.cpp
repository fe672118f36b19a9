// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/bound_predicate.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "analysis/predicate/named_value.h"
#include "base/text/suggest.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

constexpr std::array<std::pair<std::string_view, PredicateSource>, 5> kSources = {{
    {"cpu", PredicateSource::cpu},
    {"tid", PredicateSource::tid},
    {"pid", PredicateSource::pid},
    {"comm", PredicateSource::comm},
    {"event", PredicateSource::event},
}};
constexpr std::string_view kArgs = "args.";

bool is_order(Operator op) {
  return op == Operator::less || op == Operator::less_equal || op == Operator::greater ||
         op == Operator::greater_equal;
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
    if (!find(expression.field, node)) return node;
    if (auto checked = check(expression, node); !checked) return propagate(checked);
    node.op = expression.op;
    for (const Literal& literal : expression.values) {
      auto value = value_of(literal, node);
      if (!value) return propagate(value);
      node.values.push_back(std::move(*value));
    }
    return node;
  }

  // Does the event have this field?
  bool find(std::string_view name, BoundPredicate& node) const {
    node.event = event_.name;
    if (name.starts_with(kArgs)) {
      name.remove_prefix(kArgs.size());
    } else if (const auto own = std::ranges::find(
                   kSources, name, &std::pair<std::string_view, PredicateSource>::first);
               own != kSources.end()) {
      node.source = own->second;
      return true;
    }
    for (const Field& field : event_.fields) {
      if (field.name == name) {
        node.source = PredicateSource::field;
        node.field = field;
      }
      if (field.meaning == Meaning::syscall_abi) node.abi = field;
    }
    return node.source == PredicateSource::field;
  }

 private:
  [[nodiscard]] Result<> check(const Expression& expression, const BoundPredicate& node) const {
    const auto error = [&](const char* what) {
      return predicate_error(text_, expression.place, fmt::format("{} {}", expression.field, what));
    };
    if (node.is_text()) {
      if (expression.kind == Expression::Kind::nonzero)
        return error("is a text: compare it with ==, !=, ~ or in");
      if (is_order(expression.op) || expression.op == Operator::has_bits)
        return error("is a text, which has no order and no bits");
      return {};
    }
    if (node.source == PredicateSource::field && !is_scalar(node.field))
      return error("is a list, which cannot be compared");
    if (expression.op == Operator::like) return error("is a number: ~ is for texts");
    return {};
  }

  // The name of an event must be one of the schema's, if it has any.
  [[nodiscard]] Result<> check_event(const Literal& literal, const BoundPredicate& node) const {
    if (node.source != PredicateSource::event || schema_.events().empty()) return {};
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
    if (node.source != PredicateSource::field || !node.field.is_signed || literal.negative ||
        node.op == Operator::has_bits)
      return {};
    const auto bits = static_cast<uint64_t>(literal.number);
    const bool is_word = node.field.size == sizeof(int32_t);
    if (bits <= (is_word ? uint64_t{INT32_MAX} : uint64_t{INT64_MAX})) return {};
    if (is_word && bits > UINT32_MAX) return {};
    const int64_t meant = is_word ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
    return predicate_error(
        text_, literal.place,
        fmt::format("{} is a signed number; did you mean {}?", node.field.name, meant));
  }

  [[nodiscard]] Result<PredicateValue> value_of(const Literal& literal,
                                                const BoundPredicate& node) const {
    PredicateValue value;
    if (node.is_text()) {
      if (literal.kind == Literal::Kind::number || literal.negative)
        return predicate_error(text_, literal.place, "expected a text in quotes");
      if (auto known = check_event(literal, node); !known) return propagate(known);
      value.text = literal.text;
      return value;
    }
    if (literal.kind == Literal::Kind::text)
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
    const Meaning meaning =
        node.source == PredicateSource::field ? node.field.meaning : Meaning::number;
    PredicateValue value;
    if (meaning == Meaning::syscall_nr && !literal.negative) {
      value.is_call = true;
      for (uint32_t abi = 0; abi < value.call.size(); ++abi)
        value.call[abi] = syscall_number(abi, literal.text);
      if (std::ranges::any_of(value.call, [](const auto& number) { return number.has_value(); }))
        return value;
      return predicate_error(text_, literal.place,
                             fmt::format("there is no system call '{}'{}", literal.text,
                                         suggestion(literal.text, value_names(meaning, schema_))));
    }
    const auto number = named_value(meaning, literal.text, schema_);
    if (!number)
      return predicate_error(
          text_, literal.place,
          has_named_values(meaning)
              ? fmt::format("'{}' is not a name of a value of this field{}", literal.text,
                            suggestion(literal.text, value_names(meaning, schema_)))
              : "expected a number: the values of this field have no names");
    if (meaning == Meaning::syscall_ret && !literal.negative)
      return predicate_error(text_, literal.place,
                             fmt::format("a call that fails returns -{}", literal.text));
    value.number = {.bits = literal.negative ? 0 - *number : *number,
                    .negative = literal.negative && *number != 0};
    return value;
  }

  std::string_view text_;
  const Event& event_;
  const Schema& schema_;
};

}  // namespace

std::vector<std::string_view> predicate_names() {
  std::vector<std::string_view> names;
  names.reserve(kSources.size());
  for (const auto& [name, source] : kSources) names.push_back(name);
  return names;
}

Result<BoundPredicate> bind_predicate(std::string_view text, const Expression& expression,
                                      const Event& event, const Schema& schema) {
  return Binder(text, event, schema).bind(expression);
}

bool is_stored_field(const Event& event, std::string_view name) {
  BoundPredicate node;
  return Binder({}, event, {}).find(name, node) && node.source == PredicateSource::field;
}

bool has_field(const Event& event, std::string_view name) {
  BoundPredicate node;
  return Binder({}, event, {}).find(name, node);
}

}  // namespace ktraced
