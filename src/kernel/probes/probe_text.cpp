// SPDX-License-Identifier: BSD-2-Clause
// Prints probe definitions back in their grammar.
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "kernel/probes/probe_definition.h"

namespace ktraced {
namespace {

std::string with_sign(int64_t offset) { return fmt::format("{:+}", offset); }

std::string text_of(const FetchSource& source) {
  using Kind = FetchSource::Kind;
  switch (source.kind) {
    case Kind::register_value:
      return "%" + source.name;
    case Kind::address:
      return fmt::format("@{:#x}", static_cast<uint64_t>(source.number));
    case Kind::symbol:
      return "@" + source.name + (source.number == 0 ? "" : with_sign(source.number));
    case Kind::stack_address:
      return "$stack";
    case Kind::stack_entry:
      return fmt::format("$stack{}", source.number);
    case Kind::argument:
      return fmt::format("$arg{}", source.number);
    case Kind::all_arguments:
      return "$arg*";
    case Kind::return_value:
    case Kind::variable: {
      std::string text = source.kind == Kind::variable ? source.name : "$retval";
      for (const MemberStep& step : source.members) text += (step.arrow ? "->" : ".") + step.name;
      return text;
    }
    case Kind::comm:
      return "$comm";
    case Kind::immediate:
      return fmt::format("\\{}", source.number);
    case Kind::text:
      return "\\\"" + source.name + "\"";
  }
  return {};
}

}  // namespace

std::string text_of(const FetchType& type) {
  using Kind = FetchType::Kind;
  constexpr std::array kNames = {"",       "u",       "s",      "x",      "char",
                                 "string", "ustring", "symbol", "symstr", "b"};
  std::string text = kNames.at(static_cast<size_t>(type.kind));
  const unsigned bits = type.bytes * 8U;
  if (type.kind == Kind::bit_field)
    text += fmt::format("{}@{}/{}", type.width, type.offset, bits);
  else if (type.kind == Kind::number_unsigned || type.kind == Kind::number_signed ||
           type.kind == Kind::hexadecimal)
    text += std::to_string(bits);
  if (type.count != 0) text += fmt::format("[{}]", type.count);
  return text;
}

std::string text_of(const ProbeArgument& argument) {
  std::string text = text_of(argument.source);
  for (const Dereference& dereference : argument.dereferences) {
    // The sign stands before the 'u'.
    std::string offset = with_sign(dereference.offset);
    if (dereference.user) offset.insert(1, 1, 'u');
    text = fmt::format("{}({})", offset, text);
  }
  if (argument.type.kind != FetchType::Kind::automatic)
    text += fmt::format(":{}", text_of(argument.type));
  return text;
}

std::string text_of(const ProbeLocation& location) {
  if (location.symbol.empty()) return fmt::format("{:#x}", location.address);
  return (location.module.empty() ? "" : location.module + ":") + location.symbol +
         (location.offset == 0 ? "" : with_sign(location.offset));
}

std::string text_of(const ProbeDefinition& probe) {
  std::string text = probe.at_return ? "r" : "p";
  if (probe.maxactive != 0) text += std::to_string(probe.maxactive);
  text += fmt::format(":{}/{} {}", probe.group, probe.event, text_of(probe.location));
  for (const ProbeArgument& argument : probe.arguments) {
    text += ' ';
    // $arg* stands for several values, each with its own name.
    if (argument.source.kind != FetchSource::Kind::all_arguments) text += argument.name + "=";
    text += text_of(argument);
  }
  return text;
}

}  // namespace ktraced
