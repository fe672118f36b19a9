// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_btf.h"

#include <bpf/btf.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/suggest.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

using Kind = FetchType::Kind;

constexpr uint32_t kByteBits = 8;
constexpr uint32_t kPointerBytes = 8;
constexpr uint32_t kElementsMax = 64;
constexpr int kNestingMax = 16;     // anonymous structs within each other
constexpr int kMembersMax = 65536;  // looked at for one name, in all of these

std::string_view name_at(const btf* btf, uint32_t offset) {
  const char* name = btf__name_by_offset(btf, offset);
  return name == nullptr ? std::string_view() : name;
}

bool is_composite(const btf_type* type) { return type != nullptr && btf_is_composite(type); }

struct Member {
  uint32_t type = 0;
  uint32_t bit_offset = 0;  // from the outermost struct
  uint32_t bits = 0;        // of a bit field; 0: no bit field
};

// Looks into anonymous structs and unions too. `left`: members that it may still look at.
std::optional<Member> find_member(const btf* btf, const btf_type* type, std::string_view name,
                                  int& left, int depth = 0) {
  for (int i = 0; i < btf_vlen(type) && left-- > 0; i++) {
    const btf_member& member = btf_members(type)[i];
    const uint32_t offset = btf_member_bit_offset(type, static_cast<uint32_t>(i));
    const std::string_view own_name = name_at(btf, member.name_off);
    if (own_name == name)
      return Member{.type = member.type,
                    .bit_offset = offset,
                    .bits = btf_member_bitfield_size(type, static_cast<uint32_t>(i))};
    const btf_type* inner = own_name.empty() ? bare_type(btf, member.type) : nullptr;
    if (!is_composite(inner) || depth == kNestingMax) continue;
    if (auto found = find_member(btf, inner, name, left, depth + 1)) {
      found->bit_offset += offset;
      return found;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> member_names(const btf* btf, const btf_type* type, int& left,
                                           int depth = 0) {
  std::vector<std::string_view> names;
  for (int i = 0; i < btf_vlen(type) && left-- > 0; i++) {
    const btf_member& member = btf_members(type)[i];
    const std::string_view name = name_at(btf, member.name_off);
    const btf_type* inner = name.empty() ? bare_type(btf, member.type) : nullptr;
    if (!name.empty()) names.push_back(name);
    if (!is_composite(inner) || depth == kNestingMax) continue;
    std::ranges::copy(member_names(btf, inner, left, depth + 1), std::back_inserter(names));
  }
  return names;
}

std::string type_name(const btf* btf, const btf_type* type, int depth = 0) {
  if (type == nullptr || btf_is_void(type) || depth > kNestingMax) return "void";
  if (btf_is_ptr(type)) return type_name(btf, bare_type(btf, type->type), depth + 1) + " *";
  const std::string_view name = name_at(btf, type->name_off);
  const std::string_view kind = btf_is_union(type)    ? "union "
                                : btf_is_struct(type) ? "struct "
                                                      : "";
  return std::string(kind) + std::string(name.empty() ? "(anonymous)" : name);
}

bool is_char(const btf* btf, const btf_type* type) {
  return type != nullptr && btf_is_int(type) && type->size == 1 &&
         name_at(btf, type->name_off) == "char";
}

// The fetch type of a number, pointer or enum; automatic for anything else.
FetchType scalar_type(const btf_type* type) {
  if (type == nullptr) return {};
  if (btf_is_ptr(type)) return {.kind = Kind::hexadecimal, .bytes = kPointerBytes};
  const bool is_signed =
      btf_is_int(type) ? (btf_int_encoding(type) & BTF_INT_SIGNED) != 0 : btf_kflag(type);
  if (!btf_is_int(type) && !btf_is_any_enum(type)) return {};
  if (type->size > sizeof(uint64_t)) return {};
  return {.kind = is_signed ? Kind::number_signed : Kind::number_unsigned,
          .bytes = static_cast<uint8_t>(type->size)};
}

void describe_array(const btf* btf, const btf_type* type, BtfValue& value) {
  const struct btf_array* array = ::btf_array(type);
  const btf_type* element = bare_type(btf, array->type);
  if (is_char(btf, element)) {
    value.array_bytes = array->nelems;
    value.type = {.kind = Kind::string, .bytes = 1};
    return;
  }
  FetchType type_of_element = scalar_type(element);
  if (type_of_element.kind == Kind::automatic || array->nelems == 0) return;
  value.type = type_of_element;
  value.type.count = static_cast<uint8_t>(std::min(array->nelems, kElementsMax));
}

void describe_bit_field(const Member& member, const btf_type* type, BtfValue& value) {
  const uint32_t size = type->size * kByteBits;
  if (size == 0) return;
  value.offset += int64_t{member.bit_offset / size} * type->size;
  value.type = {.kind = Kind::bit_field,
                .bytes = static_cast<uint8_t>(type->size),
                .width = static_cast<uint8_t>(member.bits),
                .offset = static_cast<uint8_t>(member.bit_offset % size),
                .count = 0};
}

}  // namespace

Result<BtfFunction> BtfFunction::find(const btf* btf, const std::string& name) {
  const int id = btf__find_by_name_kind(btf, name.c_str(), BTF_KIND_FUNC);
  const btf_type* function = id < 0 ? nullptr : btf__type_by_id(btf, static_cast<uint32_t>(id));
  const btf_type* proto = function == nullptr ? nullptr : btf__type_by_id(btf, function->type);
  if (proto == nullptr || !btf_is_func_proto(proto))
    return fail(ExitCode::unavailable,
                "this kernel's type information (BTF) has no function {}: fetch registers or $argN "
                "instead of names",
                name);
  BtfFunction self;
  self.btf_ = btf;
  self.name_ = name;
  self.return_type_ = proto->type;
  bool in_registers = true;  // until an argument is not a scalar
  for (int i = 0; i < btf_vlen(proto); i++) {
    const btf_param& parameter = btf_params(proto)[i];
    if (parameter.type == 0) break;  // "..."
    in_registers &= scalar_type(bare_type(btf, parameter.type)).kind != Kind::automatic;
    const auto place = static_cast<size_t>(i);
    self.arguments_.push_back({.name = std::string(name_at(btf, parameter.name_off)),
                               .type = parameter.type,
                               .register_place = in_registers && place < kArgumentRegisters.size()
                                                     ? kArgumentRegisters[place]
                                                     : -1});
  }
  return self;
}

Result<BtfArgument> BtfFunction::argument(const std::string& name) const {
  std::vector<std::string_view> names;
  for (const BtfArgument& argument : arguments_) {
    names.emplace_back(argument.name);
    if (argument.name != name) continue;
    if (argument.register_place < 0)
      return fail(ExitCode::usage, "argument {} of {} is not passed in a register", name, name_);
    return argument;
  }
  return fail(ExitCode::usage, "{}: {}", name_,
              unknown_name("argument", name, names,
                           names.empty() ? "it has none"
                                         : fmt::format("it has {}", fmt::join(names, ", "))));
}

Result<BtfValue> BtfFunction::follow(uint32_t id, const std::vector<MemberStep>& members) const {
  BtfValue value;
  const btf_type* type = bare_type(btf_, id);
  std::optional<Member> member;
  for (const MemberStep& step : members) {
    const btf_type* target =
        step.arrow && type != nullptr && btf_is_ptr(type) ? bare_type(btf_, type->type) : nullptr;
    if (!step.arrow && value.in_memory) target = type;
    if (!is_composite(target))
      return fail(ExitCode::usage, "{}{} does not fit: what is before it is {}, {}",
                  step.arrow ? "->" : ".", step.name, type_name(btf_, type),
                  is_composite(type) ? "so write '.'" : "and no pointer to a struct");
    int left = kMembersMax, left_to_suggest = kMembersMax;
    member = find_member(btf_, target, step.name, left);
    if (!member)
      return fail(ExitCode::usage, "{}: {}", type_name(btf_, target),
                  unknown_name("member", step.name, member_names(btf_, target, left_to_suggest)));
    if (step.arrow) {
      if (value.in_memory) value.pointers.push_back(value.offset);
      value.offset = 0;
    }
    value.in_memory = true;
    if (member->bits == 0) value.offset += member->bit_offset / kByteBits;
    type = bare_type(btf_, member->type);
  }
  if (type == nullptr) return value;
  value.is_char_pointer = btf_is_ptr(type) && is_char(btf_, bare_type(btf_, type->type));
  if (member && member->bits != 0)
    describe_bit_field(*member, type, value);
  else if (btf_is_array(type))
    describe_array(btf_, type, value);
  else
    value.type = scalar_type(type);
  return value;
}

}  // namespace ktraced
