// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <string>
#include <utility>

#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/libbpf_log.h"

extern "C" {
#include "ktraced_probe.skel.h"
}

namespace ktraced {
namespace {

constexpr const char* kFetchMap = ".rodata.fetch";
constexpr size_t kLogBytes = size_t{256} * 1024;

Result<> set_fetch_program(bpf_object* object, const fetch_program& program) {
  bpf_map* map = bpf_object__find_map_by_name(object, kFetchMap);
  if (map == nullptr || bpf_map__set_initial_value(map, &program, sizeof(program)) != 0)
    return fail(ExitCode::software, "the built-in BPF object of probes is incomplete");
  return {};
}

}  // namespace

std::span<const std::byte> probe_object_bytes() {
  size_t size = 0;
  const void* data = ktraced_probe_bpf__elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

Result<Fd> load_probe_program(const BpfObject& main, const fetch_program& program, ProbeHook hook,
                              const std::function<void(bpf_program*)>& prepare) {
  const LibbpfLog log_not_printed;
  auto opened = open_beside(probe_object_bytes(), main);
  if (!opened) return propagate(opened);
  const LoadedObject object = std::move(*opened);
  if (auto set = set_fetch_program(object.get(), program); !set) return propagate(set);
  bpf_program* chosen = bpf_object__find_program_by_name(
      object.get(), hook == ProbeHook::multi ? "probe_entry_multi" : "probe_entry");
  if (chosen == nullptr)
    return fail(ExitCode::software, "the built-in BPF object of probes is incomplete");
  std::string log(kLogBytes, '\0');
  bpf_program__set_autoload(chosen, true);
  bpf_program__set_log_buf(chosen, log.data(), log.size());
  if (prepare) prepare(chosen);
  if (const int error = -bpf_object__load(object.get()); error != 0) {
    log.resize(log.find('\0'));
    spdlog::debug("{}", log);
    return fail(ExitCode::unavailable, "the kernel refuses the program of a probe: {}; {}",
                errno_text(error), kDebugShowsWhy);
  }
  return Fd(::fcntl(bpf_program__fd(chosen), F_DUPFD_CLOEXEC, 0));
}

}  // namespace ktraced
