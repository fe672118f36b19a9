// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/features.h"
#include "kernel/programs/program_barrier.h"

namespace ktraced {
namespace {

Fd duplicate(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// All zero if the kernel does not report it.
bpf_prog_info program_info(int program) {
  bpf_prog_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &length) != 0) return {};
  return info;
}

// The kernel keeps the first 15 characters of the name.
bool is_named(int program, const std::string& name) {
  const bpf_prog_info info = program_info(program);
  return name.substr(0, sizeof(info.name) - 1) == std::string_view(info.name);
}

}  // namespace

std::string BpfObject::identity(const KernelFeatures& features) {
  Hash hash;
  for (const auto bytes : all_bpf_objects()) hash.add(bytes);
  hash.add(std::as_bytes(std::span(&features.flags, 1)));
  return fmt::format("{}{:016x}", PinRoot::kObjectPrefix, hash.value());
}

// Without the programs that make and free pages, or without memory, the rings are maps.
Result<BpfObject> BpfObject::load(const Schema& schema, const KernelFeatures& features,
                                  const BpfSizes& sizes) {
  KernelFeatures used = features;
  if (used.flags.arena != 0) {
    auto object = load_once(schema, used, sizes);
    if (!object || object->arena_) return object;
    spdlog::warn("the kernel has BPF arenas, but none can be used ({}): events cost more",
                 object->no_arena_);
    used.flags.arena = 0;
  }
  return load_once(schema, used, sizes);
}

// libbpf's object is used only for loading; the descriptors are kept.
Result<BpfObject> BpfObject::load_once(const Schema& schema, const KernelFeatures& features,
                                       const BpfSizes& sizes) {
  BpfObject self;
  for (const auto& [event, reason] : features.unavailable)
    if (schema.find(event) != nullptr) self.unavailable_.emplace(event, reason);
  auto arena = features.flags.arena != 0 ? make_arena_map() : Result<Fd>();
  if (!arena) {
    self.no_arena_ = arena.error().message;
    return self;
  }
  if (!*arena)
    for (const char* program : kArenaPrograms) self.unavailable_.emplace(program, "no BPF arena");
  if (features.flags.users_at_returns != 0)
    self.unavailable_.emplace("user_changed", "no program can be on the function commit_creds");
  auto names = bpf_object_names();
  if (!names) return propagate(names);
  Result<> prepared;
  auto object = load_bpf_object(features.flags, sizes, self.unavailable_, [&](bpf_object* loading) {
    if (*arena) prepared = use_arena(loading, *arena, sizes);
  });
  if (!object) return propagate(object);
  if (!prepared) return propagate(prepared);

  for (const std::string& name : names->maps)
    self.maps_.emplace(name,
                       duplicate(bpf_object__find_map_fd_by_name(object->get(), name.c_str())));
  for (const auto& [name, tracepoint] : names->programs) {
    const int fd = bpf_program__fd(bpf_object__find_program_by_name(object->get(), name.c_str()));
    if (fd >= 0)
      self.programs_.emplace(name, Program{.fd = duplicate(fd), .tracepoint = tracepoint});
  }
  if (auto opened = self.open_arena(); !opened) {
    self.no_arena_ = opened.error().message;
    return self;
  }
  if (auto mapped = self.map_control(); !mapped) return propagate(mapped);
  if (auto ready = self.calibrate(); !ready) return propagate(ready);
  return self;
}

Result<std::optional<BpfObject>> BpfObject::adopt(const KernelFeatures& features,
                                                  const BpfSizes& sizes, Pins pins) {
  if (auto whole = pins.check(); !whole) return propagate(whole);
  if (!pins.get(Pins::Kind::map, Pins::kControlMap)) return std::nullopt;
  auto names = bpf_object_names();
  if (!names) return propagate(names);
  auto layouts =
      map_layouts(sizes, static_cast<bool>(pins.get(Pins::Kind::program, kArenaPrograms[0])));
  if (!layouts) return propagate(layouts);

  BpfObject self;
  for (const std::string& name : names->maps) {
    Fd map = pins.get(Pins::Kind::map, name);
    if (!map) return std::nullopt;
    if (layout_of(map.get()) != layouts->at(name))
      return pins.damaged(Pins::Kind::map, name, "it is a map of another layout");
    self.maps_.emplace(name, std::move(map));
  }
  for (const auto& [name, tracepoint] : names->programs) {
    if (Fd program = pins.get(Pins::Kind::program, name)) {
      if (!is_named(program.get(), name))
        return pins.damaged(Pins::Kind::program, name, "it is another program");
      self.programs_.emplace(name, Program{.fd = std::move(program), .tracepoint = tracepoint});
    }
    if (Fd link = pins.get(Pins::Kind::link, name)) self.links_.emplace(name, std::move(link));
  }
  self.unavailable_ = features.unavailable;
  constexpr const char* kRefused = "the kernel refused its program when it was loaded";
  for (const auto& [name, tracepoint] : names->programs)
    if (!self.programs_.contains(name)) self.unavailable_.emplace(name, kRefused);
  if (self.programs_.contains(kArenaPrograms.front()))
    ProgramBarrier().wait();  // for those that use what the earlier daemon has taken from a table
  if (auto opened = self.open_arena(); !opened) return propagate(opened);
  if (auto mapped = self.map_control(); !mapped) return propagate(mapped);
  if (auto ready = self.calibrate(); !ready) return propagate(ready);
  self.pins_ = std::move(pins);
  return self;
}

Result<> BpfObject::persist(Pins pins) {
  for (const auto& [name, program] : programs_)
    if (auto done = pins.pin(Pins::Kind::program, name, program.fd.get()); !done) return done;
  for (const auto& [name, map] : maps_)
    if (name != Pins::kControlMap)
      if (auto done = pins.pin(Pins::Kind::map, name, map.get()); !done) return done;
  if (auto done = pins.pin(Pins::Kind::map, Pins::kControlMap, map_fd(Pins::kControlMap)); !done)
    return done;
  pins_ = std::move(pins);
  return {};
}

Result<> BpfObject::open_arena() {
  std::array<int, 2> programs{};
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto found = programs_.find(kArenaPrograms[i]);
    if (found == programs_.end()) {
      no_arena_ = unavailable_[kArenaPrograms[i]];
      return {};
    }
    programs[i] = found->second.fd.get();
  }
  auto arena = Arena::open(map_fd(kArenaMap), programs[0], programs[1]);
  if (!arena) return propagate(arena);
  arena_ = std::move(*arena);
  return {};
}

Result<> BpfObject::map_control() {
  auto mapping =
      Mapping::map(map_fd(Pins::kControlMap), sizeof(struct control), PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  control_ = std::move(*mapping);
  return {};
}

// Lets a program find the daemon's process id in the initial pid namespace, which only a program
// can see.
Result<> BpfObject::calibrate() {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  const auto calibrator = program("calibrate");
  if (!calibrator)
    return fail(ExitCode::unavailable, "cannot run a BPF program once at start: {}",
                calibrator.error().message);
  const int error = -bpf_prog_test_run_opts(*calibrator, &options);
  if (error != 0)
    return fail(ExitCode::unavailable, "cannot run a BPF program once at start: {}",
                errno_text(error));
  return {};
}

Result<> BpfObject::attach(const std::string& name) {
  if (links_.contains(name)) return {};
  auto program = programs_.find(name);
  if (program == programs_.end())
    return fail(ExitCode::unavailable, "'{}' has no loaded program", name);
  detaching_.wait(name);
  const auto& [fd, tracepoint] = program->second;
  Fd link = attach_raw_tracepoint(fd.get(), tracepoint);
  if (!link) return fail(ExitCode::unavailable, "cannot attach '{}': {}", name, errno_text(errno));
  if (pins_)
    if (auto pinned = pins_->pin(Pins::Kind::link, name, link.get()); !pinned) return pinned;
  links_.emplace(name, std::move(link));
  return {};
}

void BpfObject::detach(const std::string& name) {
  auto link = links_.find(name);
  if (link == links_.end()) return;
  detaching_.note(name, link->second);
  links_.erase(link);
  if (pins_) pins_->unpin(Pins::Kind::link, name);
}

bool BpfObject::detaching(const std::string& name) { return !detaching_.gone(name); }

bool BpfObject::attached(const std::string& name) const { return links_.contains(name); }

uint64_t BpfObject::missed(const std::string& name) const {
  auto program = programs_.find(name);
  if (program == programs_.end()) return 0;
  return recursion_misses(program->second.fd.get());
}

Result<int> BpfObject::program(const std::string& name) const {
  if (auto found = programs_.find(name); found != programs_.end()) return found->second.fd.get();
  const auto reason = unavailable_.find(name);
  return fail(ExitCode::unavailable, "'{}' has no loaded program: {}", name,
              reason == unavailable_.end() ? "the kernel refused it" : reason->second);
}

int BpfObject::map_fd(const std::string& name) const {
  auto map = maps_.find(name);
  return map == maps_.end() ? -1 : map->second.get();
}

uint32_t BpfObject::map_capacity(const std::string& name) const {
  return layout_of(map_fd(name)).entries;
}

uint32_t flight_places_of(int map) {
  std::vector<std::byte> value(std::max<size_t>(layout_of(map).value_size, sizeof(struct layout)));
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(map, &zero, value.data()) != 0) return 0;
  struct layout layout{};
  std::memcpy(&layout, value.data(), sizeof(layout));
  return layout.flight_places;
}

void BpfObject::add_runs(RunsByProgram& runs) const {
  for (const auto& [name, program] : programs_) runs[name] += runs_of(program.fd.get());
}

ProgramRuns runs_of(int program) {
  const bpf_prog_info info = program_info(program);
  return {.runs = info.run_cnt, .run_ns = info.run_time_ns};
}

// Typed programs were loaded for their tracepoint.
Fd attach_raw_tracepoint(int program, const std::string& tracepoint) {
  const bool is_typed = program_info(program).type == BPF_PROG_TYPE_TRACING;
  return Fd(bpf_raw_tracepoint_open(is_typed ? nullptr : tracepoint.c_str(), program));
}

uint64_t load_time_of(int program) { return program_info(program).load_time; }

uint64_t recursion_misses(int program) { return program_info(program).recursion_misses; }

}  // namespace ktraced
