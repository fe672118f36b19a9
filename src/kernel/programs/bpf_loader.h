// SPDX-License-Identifier: BSD-2-Clause
// Loads the maps and programs of the built-in BPF object into the kernel, with libbpf.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "bpf/shared_state.h"
#include "kernel/pins/map_layout.h"
#include "kernel/programs/bpf_object.h"

struct bpf_object;
struct bpf_program;

namespace ktraced {

struct BpfObjectCloser {
  void operator()(bpf_object* object) const;
};
using LoadedObject = std::unique_ptr<bpf_object, BpfObjectCloser>;

// The end of messages about a program that the kernel refused; the verifier's log is for
// developers.
inline constexpr std::string_view kDebugShowsWhy = "with log.level \"debug\" the log says why";

// The names in the built-in object: its maps, and its programs with their tracepoints.
struct BpfObjectNames {
  std::vector<std::string> maps;
  std::map<std::string, std::string> programs;
};
[[nodiscard]] Result<BpfObjectNames> bpf_object_names();

// The layout of each map for these sizes, by name. `arena`: the map kArenaMap is an arena.
[[nodiscard]] Result<std::map<std::string, MapLayout>> map_layouts(const BpfSizes& sizes,
                                                                   bool arena);

// The memory that the maps of the built-in object take for these sizes, in bytes: without flight
// and stream rings, and without the pages of an arena. The kernel counts it as memory of the
// process that loads the object.
[[nodiscard]] Result<uint64_t> maps_memory(const BpfSizes& sizes);

// Loads all programs except those in `left_out` (program → reason). Adds a program that the kernel
// refuses there, and loads again without it. Fails with ExitCode::no_permission if this
// process may load none, with ExitCode::os if the machine lacks something now, or with
// ExitCode::unavailable. `prepare` gets the object right before loading.
[[nodiscard]] Result<LoadedObject> load_bpf_object(
    const features& features, const BpfSizes& sizes, std::map<std::string, std::string>& left_out,
    const std::function<void(bpf_object*)>& prepare = nullptr);

// The map that an arena replaces, and the programs that need one: to make and to free pages.
inline constexpr const char* kArenaMap = "arena";
inline constexpr std::array kArenaPrograms = {"make_pages", "free_pages"};
// Lets the programs use this arena, with flight rings of these sizes. Call it before loading. Fails
// with ExitCode::software.
[[nodiscard]] Result<> use_arena(bpf_object* object, const Fd& arena, const BpfSizes& sizes);

// The names of the programs in a built-in object. Fails with ExitCode::software.
[[nodiscard]] Result<std::vector<std::string>> programs_in(std::span<const std::byte> bytes);

// Makes a program of open_beside() that has typed arguments (TYPED_EVENT in bpf/emit.h) one for its
// tracepoint, if those of `main` are. False if there is no such tracepoint.
[[nodiscard]] bool set_type_beside(bpf_program* program, const BpfObject& main);

// Opens another built-in object, which gets the maps of the loaded `main` that have the same names.
// Fails with ExitCode::software.
[[nodiscard]] Result<LoadedObject> open_beside(std::span<const std::byte> bytes,
                                               const BpfObject& main);

}  // namespace ktraced
