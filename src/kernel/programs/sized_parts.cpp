// SPDX-License-Identifier: BSD-2-Clause
// The part of a BpfObject that depends on the sizes of the flight recorder.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/features.h"

namespace ktraced {
namespace {

// The maps whose sizes are configured. The programs that use the first one depend on the sizes too.
constexpr std::array<std::string_view, 3> kSizedMaps = {"flight_rings", "flight_banks",
                                                        ".rodata.layout"};
constexpr size_t kProgramMapsMax = 64;  // MAX_USED_MAPS of the kernel

bool is_sized_map(std::string_view name) {
  return std::ranges::find(kSizedMaps, name) != kSizedMaps.end();
}

uint32_t map_id(int map) {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  return bpf_obj_get_info_by_fd(map, &info, &length) == 0 ? info.id : 0;
}

// Ids of the maps that a program uses.
std::vector<uint32_t> map_ids(int program) {
  std::vector<uint32_t> ids(kProgramMapsMax);
  bpf_prog_info info{};
  info.nr_map_ids = kProgramMapsMax;
  info.map_ids = reinterpret_cast<uintptr_t>(ids.data());
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &length) != 0) return {};
  ids.resize(std::min<size_t>(info.nr_map_ids, ids.size()));
  return ids;
}

Fd duplicate_fd(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

bool BpfObject::is_sized(const std::string& program) const {
  const auto found = programs_.find(program);
  if (found == programs_.end()) return false;
  const std::vector<uint32_t> used = map_ids(found->second.fd.get());
  return std::ranges::find(used, map_id(map_fd("flight_rings"))) != used.end();
}

Result<SizedParts> BpfObject::load_sized(const KernelFeatures& features,
                                         const BpfSizes& sizes) const {
  auto names = bpf_object_names();
  if (!names) return propagate(names);
  SizedParts parts{.sizes = sizes, .maps = {}, .programs = {}};
  std::map<std::string, std::string> left_out;
  for (const auto& [name, tracepoint] : names->programs)
    if (!is_sized(name)) left_out.emplace(name, "it does not depend on the sizes");
  const size_t others = left_out.size();
  int reuse_error = 0;
  Result<> placed;
  auto share_maps = [&](bpf_object* object) {
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
      if (const int fd = map_fd(bpf_map__name(map)); fd >= 0 && !is_sized_map(bpf_map__name(map)))
        reuse_error = std::min(reuse_error, bpf_map__reuse_fd(map, fd));
    }
    if (arena_)
      placed =
          set_flight_places(object, places_for(sizes, flight_places_of(map_fd(".rodata.layout"))));
  };
  auto flags = features.flags;
  flags.arena = arena_ ? 1 : 0;
  auto object = load_bpf_object(flags, sizes, left_out, share_maps);
  if (!object) return propagate(object);
  if (reuse_error != 0)
    return fail(ExitCode::software, "the programs cannot share their maps: {}",
                errno_text(-reuse_error));
  if (!placed) return propagate(placed);
  if (left_out.size() != others)
    return fail(ExitCode::unavailable,
                "this kernel refuses a program with flight rings of {} KiB; {}",
                sizes.flight_bytes / 1024, kDebugShowsWhy);
  for (const std::string_view name : kSizedMaps)
    parts.maps.emplace(name, duplicate_fd(bpf_object__find_map_fd_by_name(
                                 object->get(), std::string(name).c_str())));
  for (const auto& [name, tracepoint] : names->programs)
    if (const bpf_program* program = bpf_object__find_program_by_name(object->get(), name.c_str());
        !left_out.contains(name))
      parts.programs.emplace(name, duplicate_fd(bpf_program__fd(program)));
  return parts;
}

Result<> BpfObject::stage(const SizedParts& parts) const {
  if (!pins_) return {};
  for (const auto& [name, map] : parts.maps)
    if (auto done = pins_->stage(Pins::Kind::map, name, map.get()); !done) return done;
  for (const auto& [name, program] : parts.programs)
    if (auto done = pins_->stage(Pins::Kind::program, name, program.get()); !done) return done;
  return {};
}

// In place: other threads look up other programs and maps meanwhile.
void BpfObject::replace(SizedParts parts) {
  for (auto& [name, map] : parts.maps) maps_.at(name) = std::move(map);
  for (auto& [name, program] : parts.programs) programs_.at(name).fd = std::move(program);
}

}  // namespace ktraced
