// SPDX-License-Identifier: BSD-2-Clause
// The daemon: owns the tracer, the control socket and the subscribers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/reader_access.h"
#include "daemon/capture/tracer.h"
#include "daemon/config/config.h"
#include "daemon/control/command_queue.h"
#include "daemon/control/control_server.h"
#include "daemon/control/methods.h"
#include "daemon/metrics/metrics_server.h"
#include "daemon/output/stream_recorder.h"
#include "daemon/output/subscribers.h"
#include "daemon/runtime/background_work.h"
#include "daemon/runtime/clock_watch.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/heap_trimmer.h"
#include "daemon/runtime/uevent_watch.h"
#include "daemon/service/passed_sockets.h"
#include "daemon/snapshots/snapshots.h"
#include "kernel/symbols/symbols.h"

namespace ktraced {

class Daemon {
 public:
  // Claims the control socket, or takes the one that was passed, then loads the programs: a second
  // daemon changes nothing in the kernel. A passed socket for metrics is served beside
  // metrics.listen. Signals must already be blocked (see blocked_signals()).
  // `log_lines_lost` is for the metrics.
  static Result<std::unique_ptr<Daemon>> create(EventLoop& loop, std::filesystem::path config_file,
                                                const Config& config, PassedSockets passed,
                                                std::function<uint64_t()> log_lines_lost);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Reads the configuration again; an invalid one changes nothing. `then` is called when everything
  // is attached.
  void reload(OnReloaded then);
  // Finishes pending snapshots, sends what is in the rings and ends the loop.
  void stop();

 private:
  Daemon(EventLoop& loop, std::filesystem::path config_file, Config config);
  Result<> start(PassedSockets passed, std::function<uint64_t()> log_lines_lost);
  Result<> begin_tracing();
  Result<bool> replace_other_sizes();
  Result<> save_history();
  Result<> write_frozen();
  Result<> serve_metrics(std::optional<MetricsListener> passed,
                         std::function<uint64_t()> log_lines_lost);
  Result<> listen(std::optional<Fd> passed_socket);
  void make_recorder();
  Result<> apply_stream(const StreamConfig& stream);
  void schedule_stream(bool realtime);
  void apply_access(const Config& config, const std::optional<gid_t>& readers);
  void apply_readers(const Config& config, const std::optional<gid_t>& readers,
                     const ReaderRules& rules);
  void restore_access(const AccessRules& roles, const ReaderRules& readers);
  void end_readers(const ReaderRules& rules);
  void end_streams_beyond(const AccessRules& rules);
  Result<> watch_signals();
  void watch_kernel();
  void watch_clock();
  Result<> add_signal(int signal, const char* method, std::function<void()> callback);
  void take_snapshot_on_signal();
  Result<> watch_over();
  [[nodiscard]] std::vector<MetricsPlace> metrics_places() const;
  // The line of the daemon in `systemctl status`.
  [[nodiscard]] std::string status() const;
  Result<Config> read_config();
  Result<> check_rings(const Config& config) const;
  void finish_reload(const Config& config, OnReloaded then);
  Result<Reloaded> apply_config(Config config);
  void note_modules(const KernelChanges& changes);
  void shut_down();

  EventLoop& loop_;
  HeapTrimmer heap_{loop_};
  CommandQueue commands_{loop_};
  ListQueues lists_{loop_}, reader_lists_{loop_};
  std::filesystem::path config_file_;
  Config config_;
  KernelSymbols symbols_;
  ReaderAccess access_{AddressPseudonyms::random()};
  std::unique_ptr<Subscribers> subscribers_;
  std::unique_ptr<StreamRecorder> recorder_;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<ControlServer> server_;
  ReloadCounts reloads_;
  std::unique_ptr<MetricsServer> metrics_;
  UeventWatch uevent_watch_;
  ClockWatch clock_watch_;
  EventSource watchdog_;
  std::vector<EventSource> signals_;
  // Last: their tasks use the rest.
  BackgroundWork resolver_{loop_, "ktraced-symbols"};
};

}  // namespace ktraced
