// SPDX-License-Identifier: BSD-2-Clause
// The programs that track task names and followed processes.
#pragma once

#include <string>
#include <vector>

#include "daemon/programs/availability.h"
#include "daemon/programs/program_attacher.h"
#include "kernel/filters/filter_settings.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/symbols/kernel_names.h"

namespace ktraced {

// The programs that track the names and lives of tasks, whether or not their event is enabled. If
// one of them was detached, names may have changed unnoticed: they are compared with the kernel's
// when the programs are attached again. Belongs to the main thread.
class TaskTracking {
 public:
  // All must outlive this.
  TaskTracking(const BpfObject& object, const KernelNames& names, const Availability& availability)
      : object_(object), names_(names), availability_(availability) {}

  // True for an event whose program tracks names.
  [[nodiscard]] static bool tracks_names(const std::string& event);
  // What must be tracked.
  struct Tracked {
    bool names = false;    // of threads, and their control groups
    bool threads = false;  // their ends: filters match threads, or follow processes
    bool cgroups = false;  // filters match by them, also while names are not tracked

    // Adds what must be attached before a filter takes effect: one with "follow" needs it from the
    // next fork on, and one with "cgroup" from the next move on.
    void add(const TaskFilter& filter);
    [[nodiscard]] bool any() const { return names || threads || cgroups; }
  };
  // The needs of those programs that belong to no event.
  [[nodiscard]] std::vector<ProgramNeed> helper_needs(const Tracked& tracked) const;
  // All programs that track what `tracked` says. To follow processes, the one on forks is required:
  // the others only make up for what it misses, or keep the tables small.
  [[nodiscard]] ProgramAttacher::Preparation preparation(const Tracked& tracked) const;
  // Names of the programs that belong to no event.
  [[nodiscard]] static std::vector<std::string> helpers();

  // To be called before the programs are attached.
  void begin();
  // To be called after each attached program: checks the names as soon as it is possible.
  void check_if_attached();
  // To be called when no program remains to be attached.
  void finish();
  // Attaches all tracking programs at once, while the daemon starts. Returns the programs that were
  // not attached before.
  std::vector<std::string> attach_now(ProgramAttacher& attacher);

 private:
  [[nodiscard]] bool all_attached() const;
  void check_names();

  const BpfObject& object_;
  const KernelNames& names_;
  const Availability& availability_;
  bool check_due_ = false;
};

}  // namespace ktraced
