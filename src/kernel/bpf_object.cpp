#include "kernel/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "kernel/bpf_loader.h"
#include "kernel/features.h"

namespace ktraced {
namespace {

Fd duplicate(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// "?raw_tp/kmalloc" → "kmalloc".
std::string tracepoint_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return std::string(section.substr(section.find('/') + 1));
}

}  // namespace

// libbpf's object is only the way in: what is kept are the descriptors.
Result<BpfObject> BpfObject::load(const Schema& schema, const KernelFeatures& features,
                                  const BpfSizes& sizes) {
  BpfObject self;
  for (const auto& [event, reason] : features.unavailable)
    if (schema.find(event) != nullptr) self.unavailable_.emplace(event, reason);
  auto object = load_bpf_object(features.flags, sizes, self.unavailable_);
  if (!object) return pass_on(object);

  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object->get())
      self.maps_.emplace(bpf_map__name(map), duplicate(bpf_map__fd(map)));
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object->get()) {
    if (bpf_program__fd(program) < 0) continue;
    self.programs_.emplace(
        bpf_program__name(program),
        Program{.fd = duplicate(bpf_program__fd(program)), .tracepoint = tracepoint_of(program)});
  }
  if (auto mapped = self.map_control(); !mapped) return pass_on(mapped);
  if (auto ready = self.calibrate(); !ready) return pass_on(ready);
  return self;
}

Result<> BpfObject::map_control() {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto mapping =
      Mapping::map(map_fd(".data.control"), (sizeof(struct control) + page - 1) / page * page,
                   PROT_READ | PROT_WRITE);
  if (!mapping) return pass_on(mapping);
  control_ = std::move(*mapping);
  return {};
}

// Lets the programs find out what only they can: the daemon's process id as the
// kernel sees it.
Result<> BpfObject::calibrate() {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  auto program = programs_.find("calibrate");
  const int error = program == programs_.end()
                        ? ENOENT
                        : -bpf_prog_test_run_opts(program->second.fd.get(), &options);
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
  Fd link(bpf_raw_tracepoint_open(program->second.tracepoint.c_str(), program->second.fd.get()));
  if (!link) return fail(ExitCode::unavailable, "cannot attach '{}': {}", name, errno_text(errno));
  links_.emplace(name, std::move(link));
  return {};
}

void BpfObject::detach(const std::string& name) { links_.erase(name); }

bool BpfObject::attached(const std::string& name) const { return links_.contains(name); }

uint64_t BpfObject::missed(const std::string& name) const {
  auto program = programs_.find(name);
  if (program == programs_.end()) return 0;
  bpf_prog_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(program->second.fd.get(), &info, &length) != 0) return 0;
  return info.recursion_misses;
}

int BpfObject::map_fd(const std::string& name) const {
  auto map = maps_.find(name);
  return map == maps_.end() ? -1 : map->second.get();
}

uint32_t BpfObject::map_capacity(const std::string& name) const {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(map_fd(name), &info, &length) != 0) return 0;
  return info.max_entries;
}

}  // namespace ktraced
