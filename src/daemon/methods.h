// SPDX-License-Identifier: BSD-2-Clause
// The control methods (docs/protocol.md), registered with the server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/command_queue.h"
#include "daemon/control_server.h"
#include "daemon/event_loop.h"
#include "daemon/snapshots.h"
#include "daemon/stream_recorder.h"
#include "daemon/subscribers.h"
#include "daemon/tracer.h"
#include "daemon/work_thread.h"
#include "kernel/symbols.h"

namespace ktraced {

// Called when a reload is done, with the sections that changed.
using OnReloaded = std::function<void(const Result<std::vector<std::string>>& changed)>;

// What the methods act on; all outlive the server.
struct MethodTargets {
  Tracer& tracer;
  Subscribers& subscribers;
  Snapshots& snapshots;
  StreamRecorder& recorder;
  KernelSymbols& symbols;
  WorkThread& resolver;  // for questions to them: the first one reads them all
  EventLoop& loop;
  CommandQueue& commands;  // what changes the trace, one at a time
  CommandQueue& queries;   // long listings, one at a time
  // Reads the configuration file again.
  std::function<void(OnReloaded)> reload;
};

void add_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
