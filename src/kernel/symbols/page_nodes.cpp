// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/page_nodes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/fd.h"
#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

// All nodes that the machine can have, so that memory added later does not make a node wrong.
constexpr const char* kPossibleNodes = "/sys/devices/system/node/possible";
constexpr const char* kSystemDevices = "/sys/devices/system/cpu";
constexpr const char* kZones = "/proc/zoneinfo";
constexpr size_t kMaxBytes = size_t{16} << 20;

// Arrays with an element for each node that the kernel's configuration allows.
struct NodeArray {
  const char* type;
  const char* member;
};
constexpr NodeArray kNodeArrays[] = {{"kmem_cache", "node"}, {"hstate", "nr_huge_pages_node"}};

const btf_member* member_of(const btf* btf, const btf_type* type, std::string_view name) {
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const btf_member* member = btf_members(type) + i;
    if (btf__name_by_offset(btf, member->name_off) == name) return member;
  }
  return nullptr;
}

const btf_type* struct_named(const btf* btf, const char* name) {
  const int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
  return id > 0 ? btf__type_by_id(btf, static_cast<uint32_t>(id)) : nullptr;
}

// MAX_NUMNODES; 0: not known.
uint32_t most_nodes(const btf* btf) {
  for (const NodeArray& each : kNodeArrays) {
    const btf_type* type = struct_named(btf, each.type);
    const btf_member* member = type != nullptr ? member_of(btf, type, each.member) : nullptr;
    const btf_type* array = member != nullptr ? bare_type(btf, member->type) : nullptr;
    if (array != nullptr && btf_is_array(array)) return btf_array(array)->nelems;
  }
  return 0;
}

bpf_insn instruction(int code, int dst, int src, int16_t off, int32_t imm) {
  return {.code = static_cast<uint8_t>(code),
          .dst_reg = static_cast<uint8_t>(dst & 0xf),
          .src_reg = static_cast<uint8_t>(src & 0xf),
          .off = off,
          .imm = imm};
}

// A program that returns the 32 bits, from bit args[0] on, of the 64-bit number at address args[1].
Fd load_reader() {
  const std::array program = {
      instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0),
      instruction(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_6, 8, 0),
      instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0),
      instruction(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8),
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel),
      instruction(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, -8, 0),  // 0 if it failed
      instruction(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_6, 0, 0),
      instruction(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, 63),
      instruction(BPF_ALU64 | BPF_RSH | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  return Fd(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "read_number", "Dual BSD/GPL",
                          program.data(), program.size(), nullptr));
}

// Half of the number at a kernel address, from bit `shift` on; 0 if it cannot be read.
uint64_t read_half(const Fd& reader, uint64_t address, uint64_t shift) {
  const std::array<uint64_t, 2> args = {shift, address};
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args.data(), .ctx_size_in = sizeof(args));
  return bpf_prog_test_run_opts(reader.get(), &options) == 0 ? options.retval : 0;
}

uint64_t read_kernel(const Fd& reader, uint64_t address) {
  return read_half(reader, address, 0) | read_half(reader, address, 32) << 32;
}

std::string hex(uint64_t number) { return fmt::format("{:#x}", number); }

// Why `layout` is wrong; empty: a page of each node says that it is right.
std::string disproof(const Fd& reader, const page_nodes& layout,
                     const std::vector<NodeFrame>& frames) {
  if (frames.empty()) return fmt::format("{} has no zones", kZones);
  for (const auto& [node, frame] : frames) {
    const uint64_t flags = read_kernel(reader, layout.vmemmap + frame * layout.page_struct);
    if (flags >> layout.flags_shift != node)
      return fmt::format("the flags of page frame {} of node {} are {}", frame, node, hex(flags));
  }
  return {};
}

Result<page_nodes> find_layout(const KernelSymbols& symbols) {
  auto btf = load_kernel_btf();
  if (!btf) return propagate(btf);
  auto layout = page_nodes_from_btf(btf->get());
  if (!layout)
    return fail(ExitCode::unavailable, "this kernel's BTF does not say where pages have them");
  const Fd reader = load_reader();
  if (!reader) return fail(ExitCode::unavailable, "cannot load a program: {}", errno_text(errno));
  for (const auto& [symbol, value] : {std::pair{"page_offset_base", &layout->page_offset},
                                      std::pair{"vmemmap_base", &layout->vmemmap}}) {
    auto address = symbols.address_of(symbol);
    if (!address) return propagate(address);
    *value = read_kernel(reader, *address);
    if (*value == 0) return fail(ExitCode::unavailable, "cannot read {}", symbol);
  }
  auto zones = read_file(kZones, kMaxBytes);
  if (!zones) return propagate(zones);
  if (const std::string why = disproof(reader, *layout, node_frames(*zones)); !why.empty())
    return fail(ExitCode::unavailable, "{}", why);
  layout->source = NODE_IN_PAGE;
  return *layout;
}

// A number behind `name`, as in "Node 1"; nothing if the text does not begin with that.
std::optional<uint64_t> number_after(std::string_view text, std::string_view name) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

std::optional<page_nodes> page_nodes_from_btf(const btf* btf) {
  const btf_type* page = struct_named(btf, "page");
  const btf_member* flags = page != nullptr ? member_of(btf, page, "flags") : nullptr;
  const uint32_t nodes = most_nodes(btf);
  const bool first = flags == (page != nullptr ? btf_members(page) : nullptr);
  if (flags == nullptr || !first || nodes < 2 || !std::has_single_bit(nodes)) return std::nullopt;
  page_nodes layout{};
  layout.page_struct = page->size;
  layout.flags_shift = static_cast<u16>(64 - std::countr_zero(nodes));
  return layout;
}

std::vector<NodeFrame> node_frames(std::string_view zoneinfo) {
  std::vector<NodeFrame> frames;
  uint64_t node = 0, present = 0;
  for_each_line(zoneinfo, [&](std::string_view line) {
    if (const auto number = number_after(line, "Node")) {
      node = *number;
      present = 0;
    } else if (const auto pages = number_after(line, "present")) {
      present = *pages;
    } else if (const auto frame = number_after(line, "start_pfn:"); frame && present != 0) {
      frames.push_back({.node = static_cast<uint32_t>(node), .frame = *frame});
    }
  });
  return frames;
}

PageNodes probe_page_nodes(const KernelSymbols& symbols) {
  std::error_code error;
  const bool has_nodes = std::filesystem::exists(kPossibleNodes, error);
  // A kernel without support of NUMA has only node 0.
  if (!has_nodes && std::filesystem::exists(kSystemDevices, error)) return {};
  auto possible = read_file(kPossibleNodes, kMaxBytes);
  if (possible && *possible == "0\n") return {};
  auto layout = possible ? find_layout(symbols) : Result<page_nodes>(propagate(possible));
  if (layout) return {.layout = *layout, .reason = {}};
  PageNodes unknown{.layout = {}, .reason = layout.error().message};
  unknown.layout.source = NODE_UNKNOWN;
  return unknown;
}

}  // namespace ktraced
