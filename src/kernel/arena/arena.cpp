// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/arena/arena.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/files/cgroup_memory.h"

namespace ktraced {
namespace {

constexpr uint64_t kArenaBytes = uint64_t{ARENA_PAGES} * ARENA_PAGE;
constexpr uint32_t kTableBytes = ARENA_PLACES_MAX * sizeof(uint32_t);
constexpr uint32_t kTablePages = ARENA_TABLES_END / ARENA_PAGE;

// Every process that maps an arena must do so at one address, so it must be free in the next daemon
// too: these are below all that the kernel chooses. ThreadSanitizer allows only addresses near the
// top.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t kFirstAddress = 0x7e90'0000'0000;
#else
constexpr uint64_t kFirstAddress = 0x1100'0000'0000;
#endif
constexpr uint64_t kNextAddress = 2 * kArenaBytes;
constexpr int kAddresses = 16;

bool is_free(uint64_t address) {
  // A fixed address is what this is about.
  void* requested = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  void* got = ::mmap(requested, kArenaBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  ::munmap(got, kArenaBytes);
  return got == requested;
}

Fd make_map(uint32_t pages, uint64_t address) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE, .map_extra = address);
  return Fd(
      bpf_map_create(static_cast<bpf_map_type>(kArenaMapType), "arena", 0, 0, pages, &options));
}

// The kernel refuses a map beyond a memory limit, but it ends a process that makes pages of an
// arena beyond it. So the limits that can be read are compared first, and then a map is made,
// because a container does not see the limits above it. The kernel checks the name of a map last: a
// bad one lets it free the memory before the call returns, and not some time after it is closed.
Result<> check_memory(size_t bytes) {
  if (auto room = check_memory_room(memory_limits(), bytes); !room) return room;
  LIBBPF_OPTS(bpf_map_create_opts, options);
  const Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "arena-memory", sizeof(uint32_t),
                              static_cast<uint32_t>(bytes), 1, &options));
  if (map || errno != ENOMEM) return {};
  return fail(ExitCode::os, "there is no memory for {} KiB of the arena", bytes / 1024);
}

bool has(const arena_area& area, uint32_t offset) {
  return offset / ARENA_PAGE - area.first < area.pages;
}

uint32_t pages_of(size_t bytes) {
  return static_cast<uint32_t>((bytes + ARENA_PAGE - 1) / ARENA_PAGE);
}

}  // namespace

Result<Fd> make_arena_map() {
  for (int i = 0; i < kAddresses; ++i) {
    const uint64_t address = kFirstAddress + i * kNextAddress;
    if (!is_free(address)) continue;
    Fd map = make_map(ARENA_PAGES, address);
    if (map) return map;
    break;
  }
  return fail(ExitCode::os, "cannot make an arena for the rings: {}", errno_text(errno));
}

bool kernel_has_arenas() {
  const Fd map = make_map(1, kFirstAddress);
  if (!map) return is_transient(errno);
  constexpr uint8_t kAtomic = BPF_STX | BPF_DW | BPF_ATOMIC;
  const std::array instructions = {
      bpf_insn{.code = BPF_LD | BPF_DW | BPF_IMM,
               .dst_reg = BPF_REG_1,
               .src_reg = BPF_PSEUDO_MAP_FD,
               .off = 0,
               .imm = map.get()},
      bpf_insn{}, bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 0},
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1},
      // addr_space_cast, from 1 to 0
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_X,
               .dst_reg = BPF_REG_1,
               .src_reg = BPF_REG_1,
               .off = 1,
               .imm = 1},
      bpf_insn{.code = kAtomic, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .imm = BPF_CMPXCHG},
      bpf_insn{
          .code = kAtomic, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .imm = BPF_ADD | BPF_FETCH},
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
      bpf_insn{.code = BPF_JMP | BPF_EXIT}};
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "arena", "Dual BSD/GPL",
                                 instructions.data(), instructions.size(), &options));
  return program || is_transient(errno);
}

Result<std::unique_ptr<Arena>> Arena::open(int map, int make_pages, int free_pages) {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(map, &info, &length) != 0)
    return fail(ExitCode::os, "cannot read the address of the arena: {}", errno_text(errno));
  std::unique_ptr<Arena> arena(new Arena(make_pages, free_pages));
  auto mapping = Mapping::map_at(info.map_extra, map, kArenaBytes, PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  arena->mapping_ = std::move(*mapping);
  if (auto made = arena->make_tables(); !made) return propagate(made);
  arena->free_unmentioned();
  return arena;
}

// The tables of an earlier daemon are there: then the kernel makes no pages.
Result<> Arena::make_tables() {
  const bool made = request(make_pages_, {.address = reinterpret_cast<uintptr_t>(mapping_.data()),
                                          .pages = kTablePages,
                                          .node = -1,
                                          .done = 0});
  arena_area& tables = areas().front();
  if (!made && tables.pages != kTablePages)
    return fail(ExitCode::os, "there is no memory for the tables of the arena");
  tables = {.first = 0, .pages = kTablePages};
  return {};
}

void Arena::free_unmentioned() {
  std::vector<uint32_t> mentioned = {0};
  for (uint32_t table = ARENA_FLIGHT_PLACES; table < ARENA_TABLES_END; table += kTableBytes)
    for (uint32_t index = 0; index < ARENA_PLACES_MAX; ++index)
      if (const uint32_t offset = place(table, index).load(); offset != 0)
        mentioned.push_back(offset);
  for (const arena_area& area : areas())
    if (area.pages != 0 &&
        std::ranges::none_of(mentioned, [&](uint32_t offset) { return has(area, offset); }))
      free(area.first * ARENA_PAGE);
}

std::span<arena_area> Arena::areas() const {
  return {reinterpret_cast<arena_area*>(mapping_.data()), ARENA_AREAS_MAX};
}

arena_area* Arena::find(uint32_t offset) const {
  const auto all = areas();
  const auto found =
      std::ranges::find_if(all, [&](const arena_area& area) { return has(area, offset); });
  return found == all.end() ? nullptr : &*found;
}

// The first page of that many that belong to no area.
std::optional<uint32_t> Arena::gap(uint32_t pages) const {
  std::vector<arena_area> used;
  std::ranges::copy_if(areas(), std::back_inserter(used),
                       [](const arena_area& area) { return area.pages != 0; });
  std::ranges::sort(used, {}, &arena_area::first);
  uint32_t from = 0;
  for (const arena_area& area : used) {
    if (area.first - from >= pages) return from;
    from = area.first + area.pages;
  }
  return ARENA_PAGES - from >= pages ? std::optional(from) : std::nullopt;
}

bool Arena::request(int program, arena_request request) const {
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &request, .ctx_size_in = sizeof(request));
  return bpf_prog_test_run_opts(program, &options) == 0 && request.done != 0;
}

Result<uint32_t> Arena::allocate(size_t bytes, int node) {
  const std::scoped_lock lock(mutex_);
  const uint32_t pages = pages_of(bytes);
  const auto first = gap(pages);
  const auto all = areas();
  const auto area =
      std::ranges::find_if(all, [](const arena_area& each) { return each.pages == 0; });
  if (!first || area == all.end())
    return fail(ExitCode::os, "the arena has no room for {} KiB", bytes / 1024);
  if (auto room = check_memory(bytes); !room) return propagate(room);
  *area = {.first = *first, .pages = pages};
  const uint32_t offset = *first * ARENA_PAGE;
  if (!request(make_pages_, {.address = reinterpret_cast<uintptr_t>(mapping_.data()) + offset,
                             .pages = pages,
                             .node = node,
                             .done = 0})) {
    *area = {};
    return fail(ExitCode::os, "there is no memory for {} KiB of the arena", bytes / 1024);
  }
  return offset;
}

void Arena::free(uint32_t offset) {
  const std::scoped_lock lock(mutex_);
  arena_area* area = find(offset);
  if (area == nullptr) return;
  request(free_pages_, {.address = reinterpret_cast<uintptr_t>(mapping_.data()) +
                                   uint64_t{area->first} * ARENA_PAGE,
                        .pages = area->pages,
                        .node = -1,
                        .done = 0});
  *area = {};
}

std::span<std::byte> Arena::area(uint32_t offset) const {
  const std::scoped_lock lock(mutex_);
  const arena_area* area = find(offset);
  if (area == nullptr) return {};
  return {mapping_.data() + size_t{area->first} * ARENA_PAGE, size_t{area->pages} * ARENA_PAGE};
}

std::atomic_ref<uint32_t> Arena::place(uint32_t table, uint32_t index) const {
  return std::atomic_ref(reinterpret_cast<uint32_t*>(mapping_.data() + table)[index]);
}

int node_of_cpu(uint32_t cpu) {
  constexpr std::string_view kNode = "node";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           fmt::format("/sys/devices/system/cpu/cpu{}", cpu), error)) {
    const std::string name = entry.path().filename();
    int node = -1;
    if (name.starts_with(kNode) &&
        std::from_chars(name.data() + kNode.size(), name.data() + name.size(), node).ec ==
            std::errc{})
      return node;
  }
  return -1;
}

}  // namespace ktraced
