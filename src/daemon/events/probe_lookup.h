// SPDX-License-Identifier: BSD-2-Clause
// Looks up probe definitions while the main thread serves clients: reading the kernel's symbols and
// types takes tens of milliseconds each.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/events/probe_registry.h"
#include "daemon/runtime/background_work.h"
#include "daemon/runtime/sliced_work.h"

namespace ktraced {

// Prepares probes that are to be added. Commands do it one at a time. Belongs to the loop's thread.
class ProbeLookup {
 public:
  // `catalog` and `registry` must outlive this.
  ProbeLookup(EventCatalog& catalog, const ProbeRegistry& registry)
      : catalog_(catalog), registry_(registry) {}

  // Starts the thread. Without it, nothing is prepared.
  void work_in(EventLoop& loop);

  // Looks definitions up in a separate thread, defines them in slices, and calls back. Adding them
  // is fast as long as a copy of `kept` lives. Fails with ExitCode::unavailable when the daemon
  // ends before.
  using OnLookedUp = std::function<void(const Result<Probes::Kept>& kept)>;
  void prepare(std::vector<ProbeDefinition> probes, OnLookedUp then);
  // Prepares the probes in the lines of a configuration that have not been added yet.
  void prepare(const std::vector<std::string>& lines, OnLookedUp then);

  // The daemon ends: looks up nothing more.
  void stop() { stop_.request_stop(); }

 private:
  void define_prepared(const std::vector<ProbeDefinition>& probes, const Probes::Kept& kept,
                       OnLookedUp then);
  void define_ahead(const ProbeDefinition& probe);

  EventCatalog& catalog_;
  const ProbeRegistry& registry_;
  SlicedWork defining_;
  std::stop_source stop_;
  std::unique_ptr<BackgroundWork> thread_;  // last: its tasks use the rest
};

}  // namespace ktraced
