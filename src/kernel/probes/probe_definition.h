// SPDX-License-Identifier: BSD-2-Clause
// The parsed definition of a kernel probe: where it is set and what it fetches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ktraced {

// The type of a fetched value.
struct FetchType {
  enum class Kind : uint8_t {
    automatic,  // not given: x64, text for $comm and string constants, or from BTF
    number_unsigned,
    number_signed,
    hexadecimal,
    character,
    string,   // in kernel memory, or in user memory behind a "+u" dereference
    ustring,  // in user memory
    symbol,   // an address, shown by its name
    symstr,
    bit_field,
  };
  Kind kind = Kind::automatic;
  uint8_t bytes = 8;   // of one element; for a bit field, of its word
  uint8_t width = 0;   // bits of a bit field
  uint8_t offset = 0;  // of its lowest bit in the word
  uint8_t count = 0;   // elements of an array; 0: no array

  [[nodiscard]] bool is_text() const { return kind == Kind::string || kind == Kind::ustring; }
  bool operator==(const FetchType&) const = default;
};

// One "+OFFS(…)" or "-OFFS(…)": memory at the value inside plus an offset.
struct Dereference {
  int64_t offset = 0;
  bool user = false;

  bool operator==(const Dereference&) const = default;
};

// "->name" or ".name" after a variable.
struct MemberStep {
  bool arrow = true;
  std::string name;

  bool operator==(const MemberStep&) const = default;
};

// Source of a value.
struct FetchSource {
  enum class Kind : uint8_t {
    register_value,  // %name
    address,         // @ADDR: memory at `number`
    symbol,          // @SYM±offs: memory at `name` plus `number`
    stack_address,   // $stack
    stack_entry,     // $stackN
    argument,        // $argN, counted from 1
    all_arguments,   // $arg*: one value for each argument of the function
    return_value,    // $retval
    comm,            // $comm
    immediate,       // \IMM
    text,            // \"string"
    variable,        // an argument of the function by name, see `members`
  };
  Kind kind = Kind::immediate;
  std::string name;
  int64_t number = 0;
  std::vector<MemberStep> members;  // of a variable or of the return value

  bool operator==(const FetchSource&) const = default;
};

// One value of a probe's record: NAME=FETCHARG:TYPE.
struct ProbeArgument {
  std::string name;
  FetchSource source;
  std::vector<Dereference> dereferences;  // innermost first
  FetchType type;
  size_t column = 1;  // start of its text, for messages
  size_t type_column = 1;

  // Compares definitions, ignoring columns.
  bool operator==(const ProbeArgument& other) const {
    return name == other.name && source == other.source && dereferences == other.dereferences &&
           type == other.type;
  }
};

// Where a probe is set: [MOD:]SYM±offs, a pattern of function names, or an address.
struct ProbeLocation {
  std::string module;  // empty: anywhere
  std::string symbol;  // empty: `address` counts
  int64_t offset = 0;  // bytes from the symbol
  uint64_t address = 0;
  size_t column = 1;  // start of its text, for messages

  // Does it name more than one function?
  [[nodiscard]] bool is_pattern() const { return symbol.find_first_of("*?[") != std::string::npos; }
  bool operator==(const ProbeLocation& other) const {
    return module == other.module && symbol == other.symbol && offset == other.offset &&
           address == other.address;
  }
};

// A whole probe.
struct ProbeDefinition {
  bool at_return = false;
  uint32_t maxactive = 0;  // concurrent calls that a return probe tracks; 0: kernel's default
  std::string group = "kprobes";
  std::string event;  // never empty: generated from the location if not given
  ProbeLocation location;
  std::vector<ProbeArgument> arguments;

  bool operator==(const ProbeDefinition&) const = default;
};

// "-:[GRP/][EVENT]"; an empty part matches all.
struct ProbeRemoval {
  std::string group;
  std::string event;

  bool operator==(const ProbeRemoval&) const = default;
};

using ProbeCommand = std::variant<ProbeDefinition, ProbeRemoval>;

// The name of its event.
[[nodiscard]] inline std::string event_name(const ProbeDefinition& probe) {
  return probe.group + ":" + probe.event;
}
// The definition as text, which parses to an equal definition.
[[nodiscard]] std::string text_of(const ProbeDefinition& probe);
[[nodiscard]] std::string text_of(const ProbeLocation& location);
// "+0($arg2):ustring", without the name.
[[nodiscard]] std::string text_of(const ProbeArgument& argument);
[[nodiscard]] std::string text_of(const FetchType& type);

}  // namespace ktraced
