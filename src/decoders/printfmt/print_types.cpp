// SPDX-License-Identifier: BSD-2-Clause
// The integer types that print texts cast to.
#include <algorithm>
#include <iterator>

#include "base/text/c_text.h"
#include "decoders/printfmt/print_node.h"

namespace ktraced {
namespace {

struct NamedInteger {
  std::string_view name;
  IntegerType type;
};

constexpr NamedInteger kIntegerTypes[] = {{"unsigned long long", {8, false}},
                                          {"long long", {8, true}},
                                          {"unsigned long", {8, false}},
                                          {"long", {8, true}},
                                          {"ulong", {8, false}},
                                          {"unsigned int", {4, false}},
                                          {"unsigned", {4, false}},
                                          {"uint", {4, false}},
                                          {"int", {4, true}},
                                          {"unsigned short", {2, false}},
                                          {"short", {2, true}},
                                          {"ushort", {2, false}},
                                          {"unsigned char", {1, false}},
                                          {"char", {1, true}},
                                          {"bool", {1, false}},
                                          {"u64", {8, false}},
                                          {"s64", {8, true}},
                                          {"u32", {4, false}},
                                          {"s32", {4, true}},
                                          {"u16", {2, false}},
                                          {"s16", {2, true}},
                                          {"u8", {1, false}},
                                          {"s8", {1, true}},
                                          {"uint64_t", {8, false}},
                                          {"int64_t", {8, true}},
                                          {"uint32_t", {4, false}},
                                          {"int32_t", {4, true}},
                                          {"uint16_t", {2, false}},
                                          {"uint8_t", {1, false}},
                                          {"size_t", {8, false}},
                                          {"ssize_t", {8, true}},
                                          {"loff_t", {8, true}},
                                          {"sector_t", {8, false}},
                                          {"dev_t", {4, false}},
                                          {"gfp_t", {4, false}},
                                          {"pid_t", {4, true}},
                                          {"uintptr_t", {8, false}},
                                          {"ino_t", {8, false}},
                                          {"umode_t", {2, false}},
                                          {"long long int", {8, true}},
                                          {"long int", {8, true}},
                                          {"unsigned long int", {8, false}},
                                          {"long unsigned int", {8, false}},
                                          {"__u64", {8, false}},
                                          {"__u32", {4, false}},
                                          {"__u16", {2, false}},
                                          {"__u8", {1, false}},
                                          {"__s64", {8, true}},
                                          {"__s32", {4, true}}};

}  // namespace

std::optional<IntegerType> integer_type(std::string_view type) {
  type = trimmed(type);
  if (type.ends_with('*')) return IntegerType{8, false};
  for (std::string_view prefix : {"const ", "enum "})
    if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  auto found = std::ranges::find(kIntegerTypes, type, &NamedInteger::name);
  if (found == std::end(kIntegerTypes)) return std::nullopt;
  return found->type;
}

}  // namespace ktraced
