// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/metrics_reading.h"

namespace ktraced {
namespace {

void add_daemon_metrics(Exposition& out, const MetricsReading& reading) {
  out.gauge("ktraced_build_info", "The version of the daemon and of the kernel; always 1.")
      .sample(1, {{"version", KTRACED_VERSION}, {"kernel", reading.kernel}});
  out.gauge("ktraced_start_time_seconds", "When the daemon started, in seconds since 1970.")
      .sample(reading.start_seconds);
  out.gauge("ktraced_paused", "1 if the recorder is paused.").sample(reading.paused ? 1 : 0);
  out.counter("ktraced_config_reloads_total", "Reloads of the configuration, by result.")
      .sample(reading.reloads.succeeded, {{"result", "success"}})
      .sample(reading.reloads.failed, {{"result", "failure"}});
  out.gauge("ktraced_config_last_reload_failed",
            "1 if the last reload failed: the configuration before it stays.")
      .sample(reading.reloads.last_failed ? 1 : 0);
  out.counter("ktraced_log_lines_lost_total", "Log lines dropped because nobody read them in time.")
      .sample(reading.log_lines_lost);
}

void add_process_metrics(Exposition& out, const ProcessUsage& process) {
  out.counter("process_cpu_seconds_total", "Processor time of the daemon, user and system.")
      .sample(process.cpu_seconds);
  out.gauge("process_resident_memory_bytes",
            "Memory of the daemon in RAM, with the parts of the rings that it has read.")
      .sample(process.resident_bytes);
  out.gauge("process_open_fds", "Open file descriptors of the daemon.").sample(process.open_fds);
  out.gauge("process_max_fds", "How many it may open.").sample(process.max_fds);
}

void add_program_metrics(Exposition& out, const RunsByProgram& programs) {
  out.counter("ktraced_bpf_run_seconds_total",
              "Time in a BPF program while the kernel's BPF statistics were on.");
  for (const auto& [name, runs] : programs)
    if (runs.runs != 0) out.sample(static_cast<double>(runs.run_ns) / 1e9, {{"program", name}});
  out.counter("ktraced_bpf_runs_total",
              "Runs of a BPF program while the kernel's BPF statistics were on.");
  for (const auto& [name, runs] : programs)
    if (runs.runs != 0) out.sample(runs.runs, {{"program", name}});
}

}  // namespace

std::string metrics_text(const MetricsReading& reading, MetricsFormat format) {
  Exposition out(format);
  add_daemon_metrics(out, reading);
  add_process_metrics(out, reading.process);
  add_event_metrics(out, reading);
  add_ring_metrics(out, reading);
  add_program_metrics(out, reading.programs);
  add_snapshot_metrics(out, reading);
  add_output_metrics(out, reading);
  add_subscriber_metrics(out, reading);
  return std::move(out).finish();
}

}  // namespace ktraced
