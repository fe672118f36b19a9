// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/gfp_flags.h"

#include <bpf/btf.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/files/read_file.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {

namespace {

constexpr const char* kFormatFiles[] = {"/sys/kernel/tracing/events/kmem/kmalloc/format",
                                        "/sys/kernel/debug/tracing/events/kmem/kmalloc/format"};

constexpr size_t kFormatBytesMax = 1U << 20;

constexpr std::string_view kBitPrefix = "___GFP_", kBitSuffix = "_BIT";

// Named combinations: include/linux/gfp_types.h, in the order of __def_gfpflag_names in
// include/trace/events/mmflags.h. A bit marked '?' is left out if the kernel's configuration lacks
// it; every kernel has all others.
struct Combination {
  std::string_view name;
  std::string_view bits;
};
constexpr Combination kCombinations[] = {
    {"GFP_TRANSHUGE",
     "DIRECT_RECLAIM IO FS HARDWALL HIGHMEM MOVABLE SKIP_KASAN? COMP NOMEMALLOC NOWARN"},
    {"GFP_TRANSHUGE_LIGHT", "IO FS HARDWALL HIGHMEM MOVABLE SKIP_KASAN? COMP NOMEMALLOC NOWARN"},
    {"GFP_HIGHUSER_MOVABLE",
     "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS HARDWALL HIGHMEM MOVABLE SKIP_KASAN?"},
    {"GFP_HIGHUSER", "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS HARDWALL HIGHMEM"},
    {"GFP_USER", "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS HARDWALL"},
    {"GFP_KERNEL_ACCOUNT", "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS ACCOUNT"},
    {"GFP_KERNEL", "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS"},
    {"GFP_NOFS", "DIRECT_RECLAIM KSWAPD_RECLAIM IO"},
    {"GFP_ATOMIC", "HIGH KSWAPD_RECLAIM"},
    {"GFP_NOIO", "DIRECT_RECLAIM KSWAPD_RECLAIM"},
    {"GFP_NOWAIT", "KSWAPD_RECLAIM NOWARN"},
    {"GFP_DMA", "DMA"},
    {"GFP_DMA32", "DMA32"},
    {"__GFP_RECLAIM", "DIRECT_RECLAIM KSWAPD_RECLAIM"},
};

std::string constant_name(std::string_view bit) {
  return fmt::format("{}{}{}", kBitPrefix, bit, kBitSuffix);
}

// "DMA" of "___GFP_DMA_BIT".
std::string_view bit_of(std::string_view constant) {
  constant.remove_prefix(kBitPrefix.size());
  constant.remove_suffix(kBitSuffix.size());
  return constant;
}

// Nothing if this kernel lacks a bit that is not optional.
std::optional<uint64_t> mask_of(std::string_view names, const Constants& bits) {
  uint64_t mask = 0;
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    bool is_optional = name.ends_with('?');
    if (is_optional) name.remove_suffix(1);
    auto bit = bits.find(constant_name(name));
    if (bit == bits.end() && !is_optional) return std::nullopt;
    if (bit != bits.end()) mask |= uint64_t{1} << bit->second;
  }
  return mask;
}

// Each single bit with its name, lowest first.
std::vector<FlagName> single_bits(const Constants& bits) {
  std::vector<FlagName> flags;
  for (const auto& [constant, bit] : bits) {
    std::string_view name = bit_of(constant);
    if (!name.starts_with("UNUSED") && name != "LAST")
      flags.push_back({uint64_t{1} << bit, fmt::format("__GFP_{}", name)});
  }
  std::ranges::sort(flags, {}, &FlagName::mask);
  return flags;
}

Constants gfp_bits_of_kernel() {
  auto btf = load_kernel_btf();
  return btf ? gfp_bits(btf->get()) : Constants{};
}

std::string read_format() {
  for (const char* name : kFormatFiles)
    if (auto text = read_file(name, kFormatBytesMax); text && !text->empty()) return *text;
  return {};
}

}  // namespace

Constants gfp_bits(const btf* btf) {
  Constants bits;
  for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
    const btf_type* type = btf__type_by_id(btf, id);
    if (!btf_is_enum(type)) continue;
    for (int i = 0; i < btf_vlen(type); i++) {
      const struct btf_enum& constant = ::btf_enum(type)[i];
      std::string_view name = btf__name_by_offset(btf, constant.name_off);
      if (name.starts_with(kBitPrefix) && name.ends_with(kBitSuffix) && constant.val >= 0 &&
          constant.val < 32)
        bits.emplace(name, static_cast<uint64_t>(constant.val));
    }
    if (!bits.empty()) break;  // all are in one enum
  }
  return bits;
}

std::vector<FlagName> gfp_flags_from_bits(const Constants& bits) {
  std::vector<FlagName> flags;
  for (const Combination& combination : kCombinations)
    if (auto mask = mask_of(combination.bits, bits))
      flags.push_back({*mask, std::string(combination.name)});
  for (FlagName& flag : single_bits(bits)) flags.push_back(std::move(flag));
  return flags;
}

GfpFlags probe_gfp_flags() {
  std::string format = read_format();
  if (!format.empty())
    if (auto flags = gfp_flags_from_format(format, {})) return {std::move(*flags), {}};

  Constants bits = gfp_bits_of_kernel();
  if (!format.empty())
    if (auto flags = gfp_flags_from_format(format, bits)) return {std::move(*flags), {}};
  if (!bits.empty()) return {gfp_flags_from_bits(bits), {}};
  return {{}, "neither tracefs, which cannot be read, nor this kernel's BTF has their names"};
}

}  // namespace ktraced
