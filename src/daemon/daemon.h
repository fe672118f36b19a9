// SPDX-License-Identifier: BSD-2-Clause
// The daemon: tracer, control socket and subscribers, tied together.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "daemon/command_queue.h"
#include "daemon/config.h"
#include "daemon/control_server.h"
#include "daemon/event_loop.h"
#include "daemon/failure_barrier.h"
#include "daemon/heap_trimmer.h"
#include "daemon/methods.h"
#include "daemon/snapshots.h"
#include "daemon/stream_recorder.h"
#include "daemon/subscribers.h"
#include "daemon/tracer.h"
#include "daemon/uevent_watch.h"
#include "daemon/work_thread.h"
#include "kernel/symbols.h"

namespace ktraced {

class Daemon {
 public:
  // Takes the control socket, then loads the programs: a second daemon changes nothing in
  // the kernel. Signals must be blocked already (see blocked_signals()).
  static Result<std::unique_ptr<Daemon>> create(EventLoop& loop, std::filesystem::path config_file,
                                                const Config& config);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Reads the configuration file again; a bad one changes nothing. `then` is called when
  // everything is attached.
  void reload(OnReloaded then);
  // Finishes the snapshots being written, sends what is in the rings and ends the loop.
  void stop();

 private:
  Daemon(EventLoop& loop, std::filesystem::path config_file, Config config);
  Result<> start();
  void make_recorder();
  void apply_output(const std::optional<StreamOutput>& output);
  Result<> watch_signals();
  void watch_kernel();
  void take_snapshot_on_signal();
  Result<Config> read_config();
  Result<std::vector<std::string>> put_into_use(Config config);
  void note_modules(const KernelChanges& changes);
  void shut_down();

  EventLoop& loop_;
  HeapTrimmer heap_{loop_};
  CommandQueue commands_{loop_}, queries_{loop_};
  std::filesystem::path config_file_;
  Config config_;
  KernelSymbols symbols_;
  std::unique_ptr<Subscribers> subscribers_;
  std::unique_ptr<StreamRecorder> recorder_;
  FailureBarrier publishing_{"publishing the stream"};
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<ControlServer> server_;
  UeventWatch uevent_watch_;
  std::vector<EventSource> signals_;
  WorkThread resolver_{"ktraced-symbols"};  // last: its tasks use the rest
};

}  // namespace ktraced
