#include "kernel/probe_compiler.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernel/probe_grammar.h"

namespace ktraced {
namespace {

using Source = FetchSource::Kind;
using Kind = FetchType::Kind;

constexpr uint16_t kWord = 8;
constexpr int64_t kRightShift = 8;  // place of the right shift in FETCH_BITS
constexpr uint32_t kWordBits = 64;
// Bytes of a record that emit_dynamic() leaves to padding.
constexpr uint32_t kRecordRoom = RECORD_MAX - kWord;

int64_t register_place(std::string_view name) {
  return std::ranges::find(register_names(), name) - register_names().begin();
}

// Makes the operations and fields of one definition.
class Compiler {
 public:
  Compiler(const ProbeDefinition& probe, const ProbeWorld& world) : probe_(probe), world_(world) {}

  Result<CompiledProbe> compile();

 private:
  // Where the value of an argument is before its last step is made.
  struct Place {
    bool in_memory = false;  // at the value plus `offset`
    int64_t offset = 0;
    bool user = false;
  };

  Result<> compile_argument(const ProbeArgument& argument);
  Result<Place> compile_source(const ProbeArgument& argument, FetchType& type);
  Result<Place> compile_variable(const ProbeArgument& argument, FetchType& type);
  Result<> compile_all_arguments(const ProbeArgument& argument);
  Result<> finish(const ProbeArgument& argument, const FetchType& type, Place place);
  void store_number(const ProbeArgument& argument, const FetchType& type, const Place& place);
  void store_constant_text(const ProbeArgument& argument);

  Result<const BtfFunction*> function();
  void load_register(int64_t place) { add({.code = FETCH_REGISTER, .number = place}); }
  void load_constant(int64_t value) { add({.code = FETCH_CONSTANT, .number = value}); }
  void read(int64_t offset, uint16_t size, bool user);
  void add(fetch_op op);
  Field& add_field(const std::string& name, std::string type, Meaning meaning, uint32_t size,
                   uint32_t count);
  Field& add_located(const std::string& name);
  void clear_holes();
  [[nodiscard]] std::unexpected<Error> wrong(size_t column, std::string_view message) const {
    return fail(ExitCode::usage, "column {}: {}", column, message);
  }

  const ProbeDefinition& probe_;
  const ProbeWorld& world_;
  CompiledProbe out_;
  std::vector<fetch_op> ops_;
  std::optional<BtfFunction> function_;
  uint32_t size_ = sizeof(record);
  bool can_fail_ = false;
};

void Compiler::add(fetch_op op) {
  // The bit of the field that is being made, which is added after its operations.
  op.bit = static_cast<u8>(out_.event.fields.size() % FETCH_FAILABLE_MAX);
  if (op.code == FETCH_READ || op.code == FETCH_COPY || op.code == FETCH_STRING) can_fail_ = true;
  ops_.push_back(op);
}

void Compiler::read(int64_t offset, uint16_t size, bool user) {
  add({.code = FETCH_READ,
       .flags = static_cast<u8>(user ? FETCH_USER : 0),
       .size = size,
       .number = offset});
}

Field& Compiler::add_field(const std::string& name, std::string type, Meaning meaning,
                           uint32_t size, uint32_t count) {
  size_ = (size_ + size - 1) / size * size;
  out_.event.fields.push_back({.name = name,
                               .type = std::move(type),
                               .meaning = meaning,
                               .offset = size_,
                               .size = size,
                               .count = count});
  size_ += size * count;
  return out_.event.fields.back();
}

Field& Compiler::add_located(const std::string& name) {
  constexpr uint32_t kLocation = sizeof(u32);
  size_ = (size_ + kLocation - 1) / kLocation * kLocation;
  out_.event.fields.push_back({.name = name,
                               .type = "char[]",
                               .meaning = Meaning::text,
                               .offset = size_,
                               .size = 1,
                               .count = 0,
                               .located = true});
  size_ += kLocation;
  return out_.event.fields.back();
}

Result<const BtfFunction*> Compiler::function() {
  if (function_) return &*function_;
  if (probe_.location.is_pattern() || probe_.location.symbol.empty())
    return fail(ExitCode::usage, "arguments by name need the name of one function");
  auto found = world_.function();
  if (!found) return pass_on(found);
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
      return wrong(argument.column, "this is no number: name a member of it, or give a type");
  } else if (type.is_text() && value->array_bytes == 0) {
    // The text is what the pointer points to.
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
    case Source::argument: {
      constexpr const char* kRegisters[] = {"di", "si", "dx", "cx", "r8", "r9"};
      load_register(register_place(kRegisters[source.number - 1]));
      return Place{};
    }
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

// A text that is known now is stored word by word.
void Compiler::store_constant_text(const ProbeArgument& argument) {
  std::string text = argument.source.name;
  text.resize(text.size() / kWord * kWord + kWord);  // with a NUL
  size_ = (size_ + kWord - 1) / kWord * kWord;
  for (size_t at = 0; at < text.size(); at += kWord) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + at, kWord);
    load_constant(word);
    add({.code = FETCH_STORE, .size = kWord, .at = static_cast<u16>(size_ + at)});
  }
  add_field(argument.name, fmt::format("char[{}]", text.size()), Meaning::text, 1,
            static_cast<uint32_t>(text.size()));
}

void Compiler::store_number(const ProbeArgument& argument, const FetchType& type,
                            const Place& place) {
  if (place.in_memory) read(place.offset, type.bytes, place.user);
  if (type.kind == Kind::bit_field) {
    const uint32_t left = kWordBits - type.width - type.offset;
    add({.code = FETCH_BITS,
         .number = static_cast<s64>(left | (kWordBits - type.width) << kRightShift)});
  }
  const bool is_address = type.kind == Kind::symbol || type.kind == Kind::symstr;
  const bool is_hex = type.kind == Kind::hexadecimal;
  const Meaning meaning = is_address                     ? Meaning::kaddr
                          : is_hex                       ? Meaning::hex
                          : type.kind == Kind::character ? Meaning::text
                                                         : Meaning::number;
  const size_t index = ops_.size();
  add({.code = FETCH_STORE, .size = type.bytes});
  Field& field = add_field(argument.name, text_of(type), meaning, type.bytes, 1);
  field.is_signed = type.kind == Kind::number_signed;
  ops_[index].at = static_cast<u16>(field.offset);
}

Result<> Compiler::finish(const ProbeArgument& argument, const FetchType& type, Place place) {
  const auto user = static_cast<u8>(place.user || type.kind == Kind::ustring ? FETCH_USER : 0);
  const size_t index = ops_.size();
  if (type.is_text()) {
    add({.code = FETCH_STRING, .flags = user, .number = place.offset});
    ops_[index].at = static_cast<u16>(add_located(argument.name).offset);
    return {};
  }
  if (type.count == 0) {
    store_number(argument, type, place);
    return {};
  }
  if (!place.in_memory)
    return wrong(argument.column, "an array is read from memory, and this is a plain value");
  add({.code = FETCH_COPY,
       .flags = user,
       .size = static_cast<u16>(type.bytes * type.count),
       .number = place.offset});
  const bool is_address = type.kind == Kind::symbol || type.kind == Kind::symstr;
  const Meaning meaning = is_address                       ? Meaning::kaddr
                          : type.kind == Kind::hexadecimal ? Meaning::hex
                          : type.kind == Kind::character   ? Meaning::text
                                                           : Meaning::number;
  Field& field = add_field(argument.name, text_of(type), meaning, type.bytes, type.count);
  field.is_signed = type.kind == Kind::number_signed;
  ops_[index].at = static_cast<u16>(field.offset);
  return {};
}

Result<> Compiler::compile_all_arguments(const ProbeArgument& argument) {
  auto function = this->function();
  if (!function) return wrong(argument.column, function.error().message);
  for (const BtfArgument& each : (*function)->arguments()) {
    if (each.register_place < 0) continue;
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
    const size_t index = ops_.size();
    add({.code = FETCH_COMM});
    ops_[index].at =
        static_cast<u16>(add_field(argument.name, "char[16]", Meaning::text, 1, COMM_LEN).offset);
    return {};
  }
  FetchType type = argument.type;
  auto place = compile_source(argument, type);
  if (!place) return pass_on(place);
  for (const Dereference& dereference : argument.dereferences) {
    if (place->in_memory) read(place->offset, kWord, place->user);
    *place = {.in_memory = true, .offset = dereference.offset, .user = dereference.user};
  }
  if (type.kind == Kind::automatic) type = {.kind = Kind::hexadecimal};
  return finish(argument, type, *place);
}

// The record is built where another was before: what no field covers is cleared first.
void Compiler::clear_holes() {
  std::vector<bool> covered(size_, false);
  for (const Field& field : out_.event.fields) {
    const size_t bytes = field.located ? sizeof(u32) : size_t{field.size} * field.count;
    std::fill_n(covered.begin() + field.offset, bytes, true);
  }
  std::vector<fetch_op> clear;
  for (uint32_t at = sizeof(record); at < size_;) {
    uint16_t bytes = 1;
    auto fits = [&](uint16_t more) {
      return at % more == 0 && at + more <= size_ &&
             std::none_of(covered.begin() + at, covered.begin() + at + more, std::identity());
    };
    while (bytes < kWord && fits(static_cast<uint16_t>(bytes * 2))) bytes *= 2;
    if (!covered[at])
      clear.push_back({.code = FETCH_STORE, .size = bytes, .at = static_cast<u16>(at)});
    at += covered[at] ? 1 : bytes;
  }
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
  add_field(std::string(first), "kaddr_t", Meaning::kaddr, kWord, 1);
  if (probe_.at_return) add_field(std::string(kProbeReturnIp), "kaddr_t", Meaning::kaddr, kWord, 1);
  for (const ProbeArgument& argument : probe_.arguments)
    if (auto done = compile_argument(argument); !done) return pass_on(done);
  if (can_fail_ && event.fields.size() > FETCH_FAILABLE_MAX)
    return fail(ExitCode::usage, "a probe that reads memory has at most {} values, not {}",
                FETCH_FAILABLE_MAX - 1 - (probe_.at_return ? 1 : 0),
                event.fields.size() - 1 - (probe_.at_return ? 1 : 0));
  if (can_fail_)
    out_.program.failed_at =
        add_field(std::string(kFailedFields), "u64", Meaning::failed_fields, kWord, 1).offset;
  clear_holes();
  if (size_ > kRecordRoom || ops_.size() > FETCH_OPS_MAX)
    return fail(ExitCode::usage,
                "the probe fetches too much: {} bytes and {} operations, where {} and {} are the "
                "most; fetch less, or with two probes",
                size_, ops_.size(), kRecordRoom, static_cast<int>(FETCH_OPS_MAX));
  event.size = (size_ + kWord - 1) / kWord * kWord;
  out_.program.size = size_;
  out_.program.at_return = probe_.at_return ? 1 : 0;
  std::ranges::copy(ops_, out_.program.ops);
  return std::move(out_);
}

}  // namespace

Result<CompiledProbe> compile_probe(const ProbeDefinition& probe, const ProbeWorld& world) {
  return Compiler(probe, world).compile();
}

}  // namespace ktraced
