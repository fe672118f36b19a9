// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_threads.h"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/lines.h"
#include "base/files/namespaces.h"
#include "base/files/read_file.h"
#include "kernel/symbols/proc_commands.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

// More than pid namespaces can be nested in each other, with room for the processes between them.
constexpr int kAncestorsMax = 1024;

struct NestedProcess {
  uint32_t pid = 0;             // in the outermost namespace
  uint32_t parent = 0;          // in the outermost namespace; 0: unknown
  std::vector<uint32_t> inner;  // the id in each namespace, the outermost first
};

std::optional<NestedProcess> read_nested(const fs::path& directory, uint32_t pid) {
  const auto status = read_file(directory / std::to_string(pid) / "status", kProcBytesMax);
  if (!status) return std::nullopt;
  NestedProcess process{.pid = pid,
                        .parent = number_behind<uint32_t>("\nPPid:", *status).value_or(0),
                        .inner = numbers_behind<uint32_t>("\nNSpid:", *status)};
  if (process.inner.empty()) process.inner = {pid};  // a kernel without pid namespaces
  return process;
}

// The processes that have an id in the pid namespace of a client.
class NamespaceOf {
 public:
  NamespaceOf(const fs::path& proc, NestedProcess client)
      : proc_(proc), depth_(client.inner.size()), origin_(origin_of(std::move(client))) {}

  // The id of a process or thread, if it is a member; 0: it is too far outside to be one.
  [[nodiscard]] uint32_t inner_id(const NestedProcess& process) const {
    return process.inner.size() < depth_ ? 0 : process.inner[depth_ - 1];
  }
  [[nodiscard]] bool has(const NestedProcess& process) const {
    if (process.inner.size() < depth_) return false;
    const NestedProcess origin = origin_of(process);
    return origin.pid == origin_.pid || (origin.inner.size() == depth_ && same_link(origin.pid));
  }

 private:
  // The first ancestor whose parent is outside. A child is in the namespace of its parent or in one
  // below it, so a process with the origin of the client is in its namespace or below it. A
  // process that has entered the namespace (setns) has a parent outside and another origin.
  [[nodiscard]] NestedProcess origin_of(NestedProcess process) const {
    for (int i = 0; i < kAncestorsMax; ++i) {
      auto parent = read_nested(proc_, process.parent);
      if (!parent || parent->inner.size() < depth_) break;
      process = std::move(*parent);
    }
    return process;
  }

  // The link can be read only of processes that this one might debug.
  [[nodiscard]] bool same_link(uint32_t pid) const {
    struct stat own{}, other{};
    return ::stat((proc_ / std::to_string(origin_.pid) / "ns/pid").c_str(), &own) == 0 &&
           ::stat((proc_ / std::to_string(pid) / "ns/pid").c_str(), &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
  }

  const fs::path& proc_;
  size_t depth_;          // how many ids a process of this namespace has
  NestedProcess origin_;  // of the client
};

// Looks for the processes and threads that have the ids `requested` in a namespace.
class PidSearch {
 public:
  PidSearch(const NamespaceOf& members, const std::set<uint32_t>& requested)
      : members_(members), requested_(requested) {}

  // Looks in a directory of processes, or in that of the threads of `process`.
  void look_in(const fs::path& directory, const NestedProcess* process = nullptr) {
    for_each_proc_process(
        [&](uint32_t pid) {
          const auto task = read_nested(directory, pid);
          if (task && looks_for(*task) && members_.has(process == nullptr ? *task : *process))
            found_.emplace(members_.inner_id(*task), pid);
          return !complete();
        },
        directory);
  }
  void look_at_threads(const fs::path& proc) {
    for_each_proc_process(
        [&](uint32_t pid) {
          const auto process = read_nested(proc, pid);
          if (process && members_.inner_id(*process) != 0)
            look_in(proc / std::to_string(pid) / "task", &*process);
          return !complete();
        },
        proc);
  }
  [[nodiscard]] bool complete() const { return found_.size() == requested_.size(); }
  [[nodiscard]] std::map<uint32_t, uint32_t> found() && { return std::move(found_); }

 private:
  [[nodiscard]] bool looks_for(const NestedProcess& task) const {
    const uint32_t id = members_.inner_id(task);
    return requested_.contains(id) && !found_.contains(id);
  }

  const NamespaceOf& members_;
  const std::set<uint32_t>& requested_;
  std::map<uint32_t, uint32_t> found_;
};

}  // namespace

Result<> check_sees_kernel_pids() {
  if (in_initial_pid_namespace()) return {};
  return fail(ExitCode::unavailable,
              "processes cannot be selected by id, because ktraced runs in a pid namespace whose "
              "ids are not the kernel's: run it in that of the host (--pid=host of container "
              "engines, hostPID of Kubernetes)");
}

std::optional<bool> in_nested_pid_namespace(uint32_t pid) {
  const auto process = read_nested("/proc", pid);
  if (!process) return std::nullopt;
  return process->inner.size() > 1;
}

Result<std::map<uint32_t, uint32_t>> kernel_pids(uint32_t client, const std::set<uint32_t>& ids,
                                                 const fs::path& proc) {
  auto process = read_nested(proc, client);
  if (!process)
    return fail(ExitCode::unavailable,
                "the pid namespace of process {} is unknown, because it cannot be seen in {}",
                client, proc.string());
  std::map<uint32_t, uint32_t> found;
  if (process->inner.size() == 1) {
    for (const uint32_t id : ids) found.emplace(id, id);
    return found;
  }
  const NamespaceOf members(proc, std::move(*process));
  PidSearch search(members, ids);
  search.look_in(proc);
  if (!search.complete()) search.look_at_threads(proc);
  found = std::move(search).found();
  for (const uint32_t id : ids)
    if (!found.contains(id))
      return fail(ExitCode::usage,
                  "ktraced finds no process {} in the pid namespace of its client (process {} of "
                  "the host), or may not see that it is there: use the id that the process has on "
                  "the host, from there, or select it otherwise, as by --cgroup",
                  id, client);
  return found;
}

}  // namespace ktraced
