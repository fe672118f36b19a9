// SPDX-License-Identifier: BSD-2-Clause
// The control methods (docs/protocol.md), registered with the server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/control_server.h"
#include "daemon/snapshots.h"
#include "daemon/stream_recorder.h"
#include "daemon/subscribers.h"
#include "daemon/tracer.h"
#include "kernel/symbols.h"

namespace ktraced {

// What the methods act on; all outlive the server.
struct MethodTargets {
  Tracer& tracer;
  Subscribers& subscribers;
  Snapshots& snapshots;
  StreamRecorder& recorder;
  KernelSymbols& symbols;
  // Reads the configuration file again; returns the sections that changed.
  std::function<Result<std::vector<std::string>>()> reload;
};

void add_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
