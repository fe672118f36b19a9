// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/bpf_loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "bpf/shared_state.h"
#include "kernel/programs/features.h"
#include "kernel/programs/libbpf_log.h"

extern "C" {
#include "ktraced.skel.h"
#include "ktraced_call.skel.h"
#include "ktraced_probe.skel.h"
#include "ktraced_stack.skel.h"
}

// Takes the place of libbpf's own function, which libbpf calls by its dynamic symbol.
//
// For a function or type that vmlinux does not have, libbpf looks in the BTF of modules, and for
// those asks the kernel for the ids of all BTF objects. Only CAP_SYS_ADMIN may, so without it
// nothing could be loaded on kernels before 6.2, which have no bpf_rdonly_cast(). The programs need
// nothing of modules: to a daemon that may not look there are none.
extern "C" int bpf_btf_get_next_id(uint32_t start_id, uint32_t* next_id) {
  bpf_attr attributes{};
  attributes.start_id = start_id;
  const long result = ::syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &attributes, sizeof(attributes));
  if (result == 0) {
    *next_id = attributes.next_id;
    return 0;
  }
  if (errno == EPERM) errno = ENOENT;
  return -errno;
}

namespace ktraced {
namespace {

// The program that made loading fail, from libbpf's log; empty for other failures.
std::string refused_program(const std::string& log) {
  const size_t end = log.find("': failed to load");
  if (end == std::string::npos) return {};
  const std::string before = log.substr(0, end);
  return before.substr(before.rfind('\'') + 1);
}

// The only variable of its section: before loading its initial value, afterwards the memory shared
// with the kernel.
template <class T>
T* variable(bpf_map* section) {
  size_t size = 0;
  // libbpf before 1.3 declares the memory const, although it may be written.
  const void* value = section != nullptr ? bpf_map__initial_value(section, &size) : nullptr;
  return size >= sizeof(T) ? static_cast<T*>(const_cast<void*>(value)) : nullptr;
}

std::unexpected<Error> load_failure(int error, const std::string& log) {
  if (error == EPERM || error == EACCES)
    return fail(ExitCode::no_permission,
                "the kernel does not allow loading BPF programs ({}): run as root, or with the "
                "capabilities CAP_BPF and CAP_PERFMON",
                errno_text(error));
  if (is_transient(error))  // a later start may succeed
    return fail(ExitCode::os, "cannot load the BPF programs: {}", errno_text(error));
  spdlog::debug("{}", log);
  return fail(ExitCode::unavailable, "cannot load the BPF programs: {}; {}", errno_text(error),
              kDebugShowsWhy);
}

// Why not even a small map can be made; 0: it can. libbpf takes a shortage of memory for a kernel
// that lacks a feature, and fails with other errors.
int shortage() {
  const Fd map(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "shortage", sizeof(u32), sizeof(u32), 1, nullptr));
  return map ? 0 : errno;
}

// Sizes that depend on the machine and the configuration; false if a map is missing.
bool set_sizes(bpf_object* object, const BpfSizes& sizes) {
  auto map = [&](const char* name) { return bpf_object__find_map_by_name(object, name); };
  auto* layout = variable<struct layout>(map(".rodata.layout"));
  if (layout == nullptr) return false;
  const auto cpus = static_cast<uint32_t>(libbpf_num_possible_cpus());
  layout->cpus = cpus;
  layout->flight_mask = sizes.flight_bytes - 1;
  return bpf_map__set_max_entries(map("stream_rings"), SESSIONS_MAX * cpus) == 0 &&
         bpf_map__set_max_entries(map("cpu_states"), cpus) == 0 &&
         bpf_map__set_max_entries(map("session_states"), SESSIONS_MAX * cpus) == 0 &&
         bpf_map__set_max_entries(map("flight_rings"), cpus * sizes.flight_banks) == 0;
}

// A flight ring that shows the kernel the format of the maps in flight_rings; keep it until the
// object is loaded. Resizing libbpf's own inner map is no alternative: libbpf 1.5 crashes in
// bpf_map__set_value_size() on one.
Result<Fd> set_flight_ring_model(bpf_object* object, const BpfSizes& sizes) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  Fd model(bpf_map_create(BPF_MAP_TYPE_ARRAY, "flight_model", sizeof(u32),
                          sizeof(flight_header) + sizes.flight_bytes + FLIGHT_SPILL, 1, &options));
  if (!model && (errno == ENOMEM || errno == E2BIG))
    return fail(ExitCode::os,
                "cannot make a flight ring of {} KiB: {}; choose a smaller flight.buffer_kb",
                sizes.flight_bytes / 1024, errno_text(errno));
  if (!model) return load_failure(errno, "no flight ring could be made");
  if (bpf_map__set_inner_map_fd(bpf_object__find_map_by_name(object, "flight_rings"),
                                model.get()) != 0)
    return fail(ExitCode::software, "the built-in BPF object is incomplete");
  return model;
}

// "raw_tp/kmalloc" → "kmalloc"
std::string tracepoint_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return std::string(section.substr(section.find('/') + 1));
}

// A TYPED_EVENT of bpf/emit.h: loaded for its tracepoint, so that the verifier knows the
// types of its arguments.
bool set_type(bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  if (!section.contains("raw_tracepoint/") || !bpf_program__autoload(program)) return true;
  return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING) == 0 &&
         bpf_program__set_expected_attach_type(program, BPF_TRACE_RAW_TP) == 0 &&
         bpf_program__set_attach_target(program, 0, tracepoint_of(program).c_str()) == 0;
}

// exec_begins() is loaded for the return of the function that has its tracepoint in later kernels.
void set_function_of_exec(bpf_object* object) {
  bpf_program* program = bpf_object__find_program_by_name(object, "exec_begins");
  if (!bpf_program__autoload(program)) return;
  const bool found = bpf_program__set_type(program, BPF_PROG_TYPE_TRACING) == 0 &&
                     bpf_program__set_expected_attach_type(program, BPF_TRACE_FEXIT) == 0 &&
                     bpf_program__set_attach_target(program, 0, "begin_new_exec") == 0;
  bpf_program__set_autoload(program, found);
}

// Renames a symbol and its type in an object file, so that no kernel has them.
void hide(std::string_view name, std::span<std::byte> elf) {
  const std::string text = fmt::format("{0}{1}{0}", '\0', name);
  while (void* found = ::memmem(elf.data(), elf.size(), text.data(), text.size()))
    static_cast<char*>(found)[1] = 'x';
}

LoadedObject open_bytes(std::span<const std::byte> bytes) {
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "ktraced");
  return LoadedObject(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
}

// An object to be loaded, without the variables of the kernel that its programs may not read.
// libbpf knows one that the kernel's BTF has, and the kernel refuses all programs with one that its
// table of symbols lacks, even where they never read it. The table has both or neither.
LoadedObject open_for(const features& features, std::span<const std::byte> bytes) {
  if (features.preempt_count != PREEMPT_COUNT_UNKNOWN) return open_bytes(bytes);
  std::vector<std::byte> changed(bytes.begin(), bytes.end());
  hide("pcpu_hot", changed);
  hide("__preempt_count", changed);
  return open_bytes(changed);
}

// Gives the main object these sizes. Fails with ExitCode::software.
Result<LoadedObject> with_sizes(LoadedObject object, const BpfSizes& sizes) {
  if (!object) return fail(ExitCode::software, "the built-in BPF object is not valid");
  if (!set_sizes(object.get(), sizes))
    return fail(ExitCode::software, "the built-in BPF object is incomplete");
  return object;
}

// The main object with these sizes, to be read and not to be loaded: features change no map and no
// name. Fails with ExitCode::software.
Result<LoadedObject> parse_object(const BpfSizes& sizes) {
  return with_sizes(open_bytes(bpf_object_bytes()), sizes);
}

// The features that the programs were loaded with; none if they cannot be read.
features features_of(const BpfObject& main) {
  features features{};
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(main.map_fd(".rodata.features"), &zero, &features) != 0) return {};
  return features;
}

Result<LoadedObject> open_object(const features& features, const BpfSizes& sizes,
                                 const std::map<std::string, std::string>& left_out) {
  auto opened = with_sizes(open_for(features, bpf_object_bytes()), sizes);
  if (!opened) return opened;
  bpf_object* object = opened->get();

  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    bpf_program__set_autoload(program, !left_out.contains(bpf_program__name(program)));
    if (features.typed_programs != 0 && !set_type(program))
      return fail(ExitCode::software, "'{}' cannot be a typed program: {}",
                  bpf_program__name(program), errno_text(errno));
  }
  if (features.exec_at_function != 0) set_function_of_exec(object);

  auto* flags = variable<struct features>(bpf_object__find_map_by_name(object, ".rodata.features"));
  if (flags == nullptr) return fail(ExitCode::software, "the built-in BPF object is incomplete");
  *flags = features;
  return opened;
}

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// The memory of a map, as the kernel allocates it when it makes the map (kernel/bpf/arraymap.c,
// hashtab.c, ringbuf.c).
uint64_t memory_of(const bpf_map* map) {
  constexpr uint64_t kPage = 4096, kPointer = 8, kHashElement = 48, kHashBucket = 16;
  const uint64_t entries = bpf_map__max_entries(map), cpus = libbpf_num_possible_cpus();
  const uint64_t value = rounded_up(bpf_map__value_size(map), 8);
  const uint64_t buckets = std::bit_ceil(entries) * kHashBucket;
  switch (bpf_map__type(map)) {
    case BPF_MAP_TYPE_ARRAY:
      return rounded_up(entries * value, kPage);
    case BPF_MAP_TYPE_PERCPU_ARRAY:
      return entries * (kPointer + cpus * value);
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
      if ((bpf_map__map_flags(map) & BPF_F_NO_PREALLOC) != 0) return buckets;
      // The kernel adds an element for each CPU.
      return buckets +
             (entries + cpus) * (kHashElement + rounded_up(bpf_map__key_size(map), 8) + value);
    case BPF_MAP_TYPE_RINGBUF:
      return entries + 3 * kPage;
    default:  // arrays of maps and programs, and an arena, which has no pages yet
      return entries * kPointer;
  }
}

}  // namespace

std::array<std::span<const std::byte>, 4> all_bpf_objects() {
  size_t probe = 0, call = 0;
  const void* probe_data = ktraced_probe_bpf__elf_bytes(&probe);
  const void* call_data = ktraced_call_bpf__elf_bytes(&call);
  return {bpf_object_bytes(), std::span(static_cast<const std::byte*>(probe_data), probe),
          std::span(static_cast<const std::byte*>(call_data), call), stack_object_bytes()};
}

std::span<const std::byte> stack_object_bytes() {
  size_t size = 0;
  const void* data = ktraced_stack_bpf__elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

std::span<const std::byte> bpf_object_bytes() {
  size_t size = 0;
  const void* data = ktraced_bpf__elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

Result<BpfObjectNames> bpf_object_names() {
  auto object = parse_object({});
  if (!object) return propagate(object);
  BpfObjectNames names;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object->get()) names.maps.emplace_back(bpf_map__name(map));
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object->get()) {
    names.programs.emplace(bpf_program__name(program), tracepoint_of(program));
  }
  return names;
}

Result<std::vector<std::string>> programs_in(std::span<const std::byte> bytes) {
  const LoadedObject object = open_bytes(bytes);
  if (!object) return fail(ExitCode::software, "a built-in BPF object is not valid");
  std::vector<std::string> names;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get())
      names.emplace_back(bpf_program__name(program));
  return names;
}

bool set_type_beside(bpf_program* program, const BpfObject& main) {
  return features_of(main).typed_programs == 0 || set_type(program);
}

Result<std::map<std::string, MapLayout>> map_layouts(const BpfSizes& sizes, bool arena) {
  auto object = parse_object(sizes);
  if (!object) return propagate(object);
  std::map<std::string, MapLayout> layouts;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object->get()) {
    layouts.emplace(bpf_map__name(map),
                    MapLayout{.type = static_cast<uint32_t>(bpf_map__type(map)),
                              .key_size = bpf_map__key_size(map),
                              .value_size = bpf_map__value_size(map),
                              .entries = bpf_map__max_entries(map),
                              .mappable = (bpf_map__map_flags(map) & BPF_F_MMAPABLE) != 0});
  }
  if (arena) layouts[kArenaMap] = {.type = kArenaMapType, .entries = ARENA_PAGES, .mappable = true};
  return layouts;
}

Result<uint64_t> maps_memory(const BpfSizes& sizes) {
  auto object = parse_object(sizes);
  if (!object) return propagate(object);
  uint64_t bytes = 0;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object->get()) bytes += memory_of(map);
  return bytes;
}

void BpfObjectCloser::operator()(bpf_object* object) const { bpf_object__close(object); }

Result<LoadedObject> load_bpf_object(const features& features, const BpfSizes& sizes,
                                     std::map<std::string, std::string>& left_out,
                                     const std::function<void(bpf_object*)>& prepare) {
  // Each attempt except the last leaves out one more program, so the loop ends.
  for (;;) {
    LibbpfLog log;
    auto object = open_object(features, sizes, left_out);
    if (!object) return object;
    auto model = set_flight_ring_model(object->get(), sizes);
    if (!model) return propagate(model);
    if (prepare) prepare(object->get());
    const int error = -bpf_object__load(object->get());
    if (error == 0) return object;
    const std::string refused = refused_program(log.text());
    if (const int reason = refused.empty() ? shortage() : 0; reason != 0)
      return load_failure(reason, log.text());
    // Some machines forbid programs on functions, and allow others.
    const bool none_allowed = error == EPERM && !may_load_programs();
    if (none_allowed || refused.empty() || left_out.contains(refused))
      return load_failure(error, log.text());
    left_out[refused] =
        fmt::format("the kernel refused its program: {}; {}", errno_text(error), kDebugShowsWhy);
    spdlog::warn("the kernel refused the program '{}': {}; {}", refused, errno_text(error),
                 kDebugShowsWhy);
    spdlog::debug("{}", log.text());
  }
}

namespace {

// Do flight rings of these sizes fit into a quarter of the arena? The rest is for stream rings.
bool fits_arena(const BpfSizes& sizes) {
  const uint64_t rings =
      uint64_t{sizes.flight_banks} * static_cast<uint64_t>(libbpf_num_possible_cpus());
  const uint64_t bytes = sizeof(flight_header) + sizes.flight_bytes + FLIGHT_SPILL + ARENA_PAGE;
  return rings <= ARENA_AREAS_MAX / 4 && rings * bytes <= uint64_t{ARENA_PAGES} * ARENA_PAGE / 4;
}

}  // namespace

Result<> use_arena(bpf_object* object, const Fd& arena, const BpfSizes& sizes) {
  if (bpf_map__reuse_fd(bpf_object__find_map_by_name(object, kArenaMap), arena.get()) != 0)
    return fail(ExitCode::software, "the programs cannot use the arena");
  auto* layout = variable<struct layout>(bpf_object__find_map_by_name(object, ".rodata.layout"));
  if (layout == nullptr) return fail(ExitCode::software, "the built-in BPF object is incomplete");
  layout->flight_places = fits_arena(sizes) ? ARENA_FLIGHT_PLACES : 0;
  return {};
}

Result<LoadedObject> open_beside(std::span<const std::byte> bytes, const BpfObject& main) {
  LoadedObject object = open_for(features_of(main), bytes);
  if (!object) return fail(ExitCode::software, "a built-in BPF object is not valid");
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object.get()) {
    const int fd = main.map_fd(bpf_map__name(map));
    if (fd < 0) continue;
    if (const int error = -bpf_map__reuse_fd(map, fd); error != 0)
      return fail(ExitCode::software, "a program cannot use map {}: {}", bpf_map__name(map),
                  errno_text(error));
  }
  return object;
}

}  // namespace ktraced
