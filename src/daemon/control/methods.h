// SPDX-License-Identifier: BSD-2-Clause
// The control methods (docs/protocol.md), registered with the server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/access/reader_access.h"
#include "daemon/capture/tracer.h"
#include "daemon/config/metrics_address.h"
#include "daemon/control/command_queue.h"
#include "daemon/control/control_server.h"
#include "daemon/output/stream_recorder.h"
#include "daemon/output/subscribers.h"
#include "daemon/runtime/background_work.h"
#include "daemon/snapshots/snapshots.h"
#include "kernel/symbols/symbols.h"

namespace ktraced {

// What a reload has changed: sections; and keys, with their section and a dot.
struct Reloaded {
  std::vector<std::string> changed, at_next_start;
};
// Called when a reload is done.
using OnReloaded = std::function<void(const Result<Reloaded>& reloaded)>;

// Lists of events, one of each kind at a time.
struct ListQueues {
  explicit ListQueues(EventLoop& loop) : events(loop), searches(loop) {}

  CommandQueue events;
  CommandQueue searches;  // with tracepoints: they may take much longer
};

// The objects that the methods use; all outlive the server.
struct MethodTargets {
  EventLoop& loop;
  const TracerParts& tracer;
  std::function<Result<>(bool enabled)> set_flight;  // Tracer::set_flight()
  Subscribers& subscribers;
  Snapshots& snapshots;
  StreamRecorder& recorder;
  KernelSymbols& symbols;
  BackgroundWork& resolver;  // looks up `symbols`: the first query reads all of them
  const ReaderAccess& access;
  std::function<std::vector<MetricsPlace>()> metrics_places;  // where they are served now
  CommandQueue& commands;  // changes of the trace config, one at a time
  ListQueues& lists;
  ListQueues& reader_lists;  // of clients that may only read: administrators do not wait for them
  // Reads the configuration file again.
  std::function<void(OnReloaded)> reload;
};

void add_methods(ControlServer& server, const MethodTargets& targets);

// ---- parts of it ----

// `status.overhead`. Turns the kernel's statistics on while it measures, so it is for
// administrators.
void add_overhead_method(ControlServer& server, const MethodTargets& targets);
// snapshot.*
void add_snapshot_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
