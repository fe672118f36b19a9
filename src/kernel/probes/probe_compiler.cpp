// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_compiler.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernel/probes/probe_grammar.h"
#include "kernel/probes/probe_layout.h"

namespace ktraced {
namespace {

using Source = FetchSource::Kind;
using Kind = FetchType::Kind;

constexpr uint16_t kWord = 8;
constexpr int64_t kRightShift = 8;  // position of the right shift in FETCH_BITS
constexpr uint32_t kWordBits = 64;
// Bytes of a record that emit_dynamic() reserves for padding.
constexpr uint32_t kRecordRoom = RECORD_MAX - kWord;

int64_t register_place(std::string_view name) {
  return std::ranges::find(register_names(), name) - register_names().begin();
}

Meaning meaning_of(const FetchType& type) {
  switch (type.kind) {
    case Kind::symbol:
    case Kind::symstr:
      return Meaning::kaddr;
    case Kind::hexadecimal:
      return Meaning::hex;
    case Kind::character:
      return Meaning::text;
    default:
      return Meaning::number;
  }
}

// Compiles one definition to operations and fields.
class Compiler {
 public:
  Compiler(const ProbeDefinition& probe, const ProbeWorld& world) : probe_(probe), world_(world) {}

  Result<CompiledProbe> compile();

 private:
  // Location of an argument's value before the last step.
  struct Place {
    bool in_memory = false;  // at the value plus `offset`
    int64_t offset = 0;
    bool user = false;
  };

  Result<> compile_argument(const ProbeArgument& argument);
  Result<Place> compile_source(const ProbeArgument& argument, FetchType& type);
  Result<Place> compile_variable(const ProbeArgument& argument, FetchType& type);
  Result<> compile_all_arguments(const ProbeArgument& argument);
  // Stores the result of the operations from `first` on.
  Result<> finish(const ProbeArgument& argument, const FetchType& type, Place place, size_t first);
  void fetch_number(const FetchType& type, const Place& place);
  void store_bit_fields(const ProbeArgument& argument, const FetchType& type, Place place,
                        size_t first);
  // Adds a field for one value or an array; returns its offset.
  uint16_t add_value(const ProbeArgument& argument, const FetchType& type, uint32_t count);
  void store_constant_text(const ProbeArgument& argument);

  Result<const BtfFunction*> function();
  void load_register(int64_t place) { add({.code = FETCH_REGISTER, .number = place}); }
  void load_constant(int64_t value) { add({.code = FETCH_CONSTANT, .number = value}); }
  void read(int64_t offset, uint16_t size, bool user);
  void add(fetch_op op);
  void clear_holes();
  [[nodiscard]] std::unexpected<Error> wrong(size_t column, std::string_view message) const {
    return fail(ExitCode::usage, "column {}: {}", column, message);
  }

  const ProbeDefinition& probe_;
  const ProbeWorld& world_;
  CompiledProbe out_;
  std::vector<fetch_op> ops_;
  std::optional<BtfFunction> function_;
  ProbeLayout layout_;
  bool can_fail_ = false;
};

void Compiler::add(fetch_op op) {
  // The bit of the current field, which is added after its operations.
  op.bit = static_cast<u8>(layout_.fields().size() % FETCH_FAILABLE_MAX);
  if (op.code == FETCH_READ || op.code == FETCH_COPY || op.code == FETCH_STRING) can_fail_ = true;
  ops_.push_back(op);
}

void Compiler::read(int64_t offset, uint16_t size, bool user) {
  add({.code = FETCH_READ,
       .flags = static_cast<u8>(user ? FETCH_USER : 0),
       .size = size,
       .number = offset});
}

Result<const BtfFunction*> Compiler::function() {
  if (function_) return &*function_;
  if (probe_.location.is_pattern() || probe_.location.symbol.empty())
    return fail(ExitCode::usage, "arguments by name need the name of one function");
  auto found = world_.function();
  if (!found) return propagate(found);
  function_ = std::move(*found);
  return &*function_;
}

Result<Compiler::Place> Compiler::compile_variable(const ProbeArgument& argument, FetchType& type) {
  auto function = this->function();
  if (!function) return wrong(argument.column, function.error().message);
  uint32_t type_id = (*function)->return_type();
  int64_t place = register_place("ax");
  if (argument.source.kind == Source::variable) {
    auto found = (*function)->argument(argument.source.name);
    if (!found) return wrong(argument.column, found.error().message);
    type_id = found->type;
    place = found->register_place;
  }
  auto value = (*function)->follow(type_id, argument.source.members);
  if (!value) return wrong(argument.column, value.error().message);
  load_register(place);
  for (int64_t offset : value->pointers) read(offset, kWord, false);
  Place at{.in_memory = value->in_memory, .offset = value->offset};
  if (!argument.dereferences.empty()) return at;
  if (type.kind == Kind::automatic) {
    type = value->type;
    if (type.kind == Kind::automatic)
      return wrong(argument.column, "this is not a number: name a member of it, or give a type");
  } else if (type.is_text() && value->array_bytes == 0) {
    // The pointer points to the text.
    if (at.in_memory) read(at.offset, kWord, false);
    at = {.in_memory = true, .offset = 0, .user = type.kind == Kind::ustring};
  }
  return at;
}

Result<Compiler::Place> Compiler::compile_source(const ProbeArgument& argument, FetchType& type) {
  const FetchSource& source = argument.source;
  switch (source.kind) {
    case Source::register_value:
      load_register(register_place(source.name));
      return Place{};
    case Source::argument:
      load_register(kArgumentRegisters.at(static_cast<size_t>(source.number - 1)));
      return Place{};
    case Source::stack_address:
      load_register(register_place("sp"));
      return Place{};
    case Source::stack_entry:
      load_register(register_place("sp"));
      return Place{.in_memory = true, .offset = source.number * kWord};
    case Source::immediate:
      load_constant(source.number);
      return Place{};
    case Source::address:
      load_constant(source.number);
      return Place{.in_memory = true};
    case Source::symbol: {
      auto address = world_.symbol(source.name);
      if (!address) return wrong(argument.column, address.error().message);
      load_constant(static_cast<int64_t>(*address) + source.number);
      return Place{.in_memory = true};
    }
    case Source::return_value:
      if (!source.members.empty()) return compile_variable(argument, type);
      load_register(register_place("ax"));
      return Place{};
    case Source::variable:
      return compile_variable(argument, type);
    case Source::comm:
    case Source::text:
    case Source::all_arguments:
      break;
  }
  return wrong(argument.column, "+OFFS(…) around a text reads nothing");
}

// A constant text is stored word by word.
void Compiler::store_constant_text(const ProbeArgument& argument) {
  std::string text = argument.source.name;
  text.resize(text.size() / kWord * kWord + kWord);  // with a NUL
  layout_.align(kWord);
  for (size_t at = 0; at < text.size(); at += kWord) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + at, kWord);
    load_constant(word);
    add({.code = FETCH_STORE, .size = kWord, .at = static_cast<u16>(layout_.size() + at)});
  }
  layout_.add(argument.name, fmt::format("char[{}]", text.size()), Meaning::text, 1,
              static_cast<uint32_t>(text.size()));
}

uint16_t Compiler::add_value(const ProbeArgument& argument, const FetchType& type, uint32_t count) {
  Field& field = layout_.add(argument.name, text_of(type), meaning_of(type), type.bytes, count);
  field.is_signed = type.kind == Kind::number_signed;
  return static_cast<u16>(field.offset);
}

void Compiler::fetch_number(const FetchType& type, const Place& place) {
  if (place.in_memory) read(place.offset, type.bytes, place.user);
  if (type.kind == Kind::bit_field) {
    const uint32_t left = kWordBits - type.width - type.offset;
    add({.code = FETCH_BITS,
         .number = static_cast<s64>(left | (kWordBits - type.width) << kRightShift)});
  }
  add({.code = FETCH_STORE, .size = type.bytes});
}

// Operations work on a single value, so the address of the array is computed again for each of its
// words.
void Compiler::store_bit_fields(const ProbeArgument& argument, const FetchType& type, Place place,
                                size_t first) {
  const std::vector<fetch_op> way(ops_.begin() + static_cast<ptrdiff_t>(first), ops_.end());
  std::vector<size_t> stores;
  for (size_t i = 0; i < type.count; ++i, place.offset += type.bytes) {
    if (i > 0) ops_.insert(ops_.end(), way.begin(), way.end());
    fetch_number(type, place);
    stores.push_back(ops_.size() - 1);
  }
  uint16_t at = add_value(argument, type, type.count);
  for (size_t store : stores) {
    ops_[store].at = at;
    at += type.bytes;
  }
}

Result<> Compiler::finish(const ProbeArgument& argument, const FetchType& type, Place place,
                          size_t first) {
  const auto user = static_cast<u8>(place.user || type.kind == Kind::ustring ? FETCH_USER : 0);
  if (type.is_text()) {
    add({.code = FETCH_STRING, .flags = user, .number = place.offset});
    ops_.back().at = static_cast<u16>(layout_.add_located(argument.name).offset);
    return {};
  }
  if (type.count == 0) {
    fetch_number(type, place);
    ops_.back().at = add_value(argument, type, 1);
    return {};
  }
  if (!place.in_memory)
    return wrong(argument.column, "an array is read from memory, and this is a plain value");
  if (type.kind == Kind::bit_field) {
    store_bit_fields(argument, type, place, first);
    return {};
  }
  add({.code = FETCH_COPY,
       .flags = user,
       .size = static_cast<u16>(type.bytes * type.count),
       .number = place.offset});
  ops_.back().at = add_value(argument, type, type.count);
  return {};
}

Result<> Compiler::compile_all_arguments(const ProbeArgument& argument) {
  auto function = this->function();
  if (!function) return wrong(argument.column, function.error().message);
  for (const BtfArgument& each : (*function)->arguments()) {
    if (each.register_place < 0) continue;
    if (std::ranges::find(probe_.arguments, each.name, &ProbeArgument::name) !=
        probe_.arguments.end())
      return wrong(argument.column,
                   fmt::format("$arg* fetches '{}' too: rename the other value", each.name));
    ProbeArgument one = argument;
    one.name = each.name;
    one.source = {.kind = Source::variable, .name = each.name};
    if (auto done = compile_argument(one); !done) return done;
  }
  return {};
}

Result<> Compiler::compile_argument(const ProbeArgument& argument) {
  if (argument.source.kind == Source::all_arguments) return compile_all_arguments(argument);
  const bool plain = argument.dereferences.empty();
  if (plain && argument.source.kind == Source::text) {
    store_constant_text(argument);
    return {};
  }
  if (plain && argument.source.kind == Source::comm) {
    add({.code = FETCH_COMM});
    ops_.back().at =
        static_cast<u16>(layout_.add(argument.name, "char[16]", Meaning::text, 1, COMM_LEN).offset);
    return {};
  }
  const size_t first = ops_.size();
  FetchType type = argument.type;
  auto place = compile_source(argument, type);
  if (!place) return propagate(place);
  for (const Dereference& dereference : argument.dereferences) {
    if (place->in_memory) read(place->offset, kWord, place->user);
    *place = {.in_memory = true, .offset = dereference.offset, .user = dereference.user};
  }
  if (type.kind == Kind::automatic) type = {.kind = Kind::hexadecimal};
  return finish(argument, type, *place, first);
}

// The record reuses a buffer: clear the bytes that no field covers.
void Compiler::clear_holes() {
  std::vector<fetch_op> clear;
  for (const ProbeLayout::Hole& hole : layout_.holes())
    clear.push_back({.code = FETCH_STORE, .size = hole.bytes, .at = static_cast<u16>(hole.offset)});
  if (clear.empty()) return;
  clear.insert(clear.begin(), {.code = FETCH_CONSTANT});
  ops_.insert(ops_.begin(), clear.begin(), clear.end());
}

Result<CompiledProbe> Compiler::compile() {
  Event& event = out_.event;
  event.name = probe_.group + ":" + probe_.event;
  event.group = probe_.group;
  event.doc = text_of(probe_);
  const auto first = probe_.at_return ? kProbeFunction : kProbeIp;
  layout_.add(std::string(first), "kaddr_t", Meaning::kaddr, kWord, 1);
  if (probe_.at_return)
    layout_.add(std::string(kProbeReturnIp), "kaddr_t", Meaning::kaddr, kWord, 1);
  for (const ProbeArgument& argument : probe_.arguments)
    if (auto done = compile_argument(argument); !done) return propagate(done);
  if (can_fail_ && layout_.fields().size() > FETCH_FAILABLE_MAX)
    return fail(ExitCode::usage, "a probe that reads memory has at most {} values, not {}",
                FETCH_FAILABLE_MAX - 1 - (probe_.at_return ? 1 : 0),
                layout_.fields().size() - 1 - (probe_.at_return ? 1 : 0));
  if (can_fail_)
    out_.program.failed_at =
        layout_.add(std::string(kFailedFields), "u64", Meaning::failed_fields, kWord, 1).offset;
  clear_holes();
  if (layout_.size() > kRecordRoom || ops_.size() > FETCH_OPS_MAX)
    return fail(ExitCode::usage,
                "the probe fetches too much: {} bytes and {} operations, where {} and {} are the "
                "most; fetch less, or with two probes",
                layout_.size(), ops_.size(), kRecordRoom, static_cast<int>(FETCH_OPS_MAX));
  event.fields = layout_.fields();
  event.size = (layout_.size() + kWord - 1) / kWord * kWord;
  out_.program.size = layout_.size();
  out_.program.at_return = probe_.at_return ? 1 : 0;
  std::ranges::copy(ops_, out_.program.ops);
  return std::move(out_);
}

}  // namespace

Result<CompiledProbe> compile_probe(const ProbeDefinition& probe, const ProbeWorld& world) {
  return Compiler(probe, world).compile();
}

}  // namespace ktraced
