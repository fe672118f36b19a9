// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/bpf_view.h"

#include <bpf/bpf.h>
#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/error.h"
#include "harness/machine/process.h"

namespace ktraced::live {
namespace {

// The "key:\tvalue" lines of one /proc/PID/fdinfo file.
std::map<std::string, uint32_t> ids_in(const std::filesystem::path& file) {
  std::map<std::string, uint32_t> ids;
  std::ifstream in(file);
  std::string key, value;
  while (in >> key && std::getline(in, value))
    if (key == "prog_id:" || key == "map_id:" || key == "link_id:")
      ids[key] = static_cast<uint32_t>(std::stoul(value));
  return ids;
}

bpf_prog_info info_of(uint32_t program) {
  bpf_prog_info info = {};
  uint32_t size = sizeof(info);
  Fd fd(bpf_prog_get_fd_by_id(program));
  if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &size) != 0)
    throw std::runtime_error("no information on a BPF program: " + errno_text(errno));
  return info;
}

// Does not open any map: when a map of programs is closed twice in a short time, the kernel leaks a
// reference and keeps it (kernel/bpf/arraymap.c, prog_array_map_clear()).
std::set<uint32_t> existing(const std::set<uint32_t>& ids, int (*next_id)(uint32_t, uint32_t*)) {
  std::set<uint32_t> found;
  for (uint32_t id : ids)
    if (uint32_t next = 0; next_id(id - 1, &next) == 0 && next == id) found.insert(id);
  return found;
}

}  // namespace

BpfObjects bpf_objects_of(pid_t pid) {
  BpfObjects objects;
  auto directory = "/proc/" + std::to_string(pid) + "/fdinfo";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    auto ids = ids_in(entry.path());
    if (ids.contains("link_id:")) {
      objects.links.insert(ids["link_id:"]);
      objects.attached_programs.insert(ids["prog_id:"]);
    } else if (ids.contains("prog_id:")) {
      objects.programs.insert(ids["prog_id:"]);
    } else if (ids.contains("map_id:")) {
      objects.maps.insert(ids["map_id:"]);
    }
  }
  return objects;
}

std::set<std::string> attached_program_names(pid_t pid) {
  std::set<std::string> names;
  for (uint32_t id : bpf_objects_of(pid).attached_programs) names.insert(info_of(id).name);
  return names;
}

ProgramCounts program_counts(pid_t pid, const std::string& name) {
  for (uint32_t id : bpf_objects_of(pid).programs)
    if (bpf_prog_info info = info_of(id); name.substr(0, BPF_OBJ_NAME_LEN - 1) == info.name)
      return {.runs = info.run_cnt, .missed = info.recursion_misses};
  throw std::runtime_error("the daemon has no BPF program " + name);
}

std::vector<Fd> hold_links_of(pid_t pid) {
  std::vector<Fd> held;
  for (const uint32_t id : bpf_objects_of(pid).links) {
    Fd link(bpf_link_get_fd_by_id(id));
    if (link)
      held.push_back(std::move(link));
    else if (errno != ENOENT)  // it has been closed meanwhile
      throw std::runtime_error("cannot open a BPF link: " + errno_text(errno));
  }
  return held;
}

BpfObjects still_there(const BpfObjects& objects) {
  BpfObjects left;
  left.programs = existing(objects.programs, bpf_prog_get_next_id);
  left.maps = existing(objects.maps, bpf_map_get_next_id);
  left.links = existing(objects.links, bpf_link_get_next_id);
  return left;
}

testing::AssertionResult all_gone(const BpfObjects& objects) {
  BpfObjects left;
  if (eventually([&] {
        left = still_there(objects);
        return left.programs.empty() && left.maps.empty() && left.links.empty();
      }))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << left.programs.size() << " programs, " << left.maps.size()
                                     << " maps, " << left.links.size() << " links are left";
}

RunStatistics::RunStatistics() : fd_(bpf_enable_stats(BPF_STATS_RUN_TIME)) {
  if (!fd_) throw std::runtime_error("cannot enable BPF statistics: " + errno_text(errno));
}

}  // namespace ktraced::live
