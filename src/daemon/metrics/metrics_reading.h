// SPDX-License-Identifier: BSD-2-Clause
// What the metrics are made of, at one moment. The parts are those that `status` shows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/capture/trace_status.h"
#include "daemon/metrics/exposition.h"
#include "daemon/output/stream_recorder.h"
#include "daemon/output/subscribers.h"
#include "daemon/snapshots/snapshots.h"

namespace ktraced {

// Reloads of the configuration since the daemon started.
struct ReloadCounts {
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  bool last_failed = false;
};

// What the daemon's process uses.
struct ProcessUsage {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
};

[[nodiscard]] ProcessUsage process_usage();

struct MetricsReading {
  std::string kernel;        // its release
  double start_seconds = 0;  // CLOCK_REALTIME
  bool paused = false;       // the recorder
  ProcessUsage process;
  ReloadCounts reloads;
  uint64_t log_lines_lost = 0;
  std::map<std::string, EventTotals> events;
  TraceStatus trace;
  uint64_t now_ns = 0;  // CLOCK_BOOTTIME
  uint64_t follow_lost = 0;
  uint64_t history_lost_ns = 0;  // of earlier daemons
  RunsByProgram programs;
  SnapshotsStatus snapshots;
  OutputStatus output;
  std::vector<SubscriberStatus> subscribers;
  SubscriberTotals subscriber_totals;
};

// All metrics of docs/metrics.md; each family is there, also without samples.
[[nodiscard]] std::string metrics_text(const MetricsReading& reading, MetricsFormat format);

// ---- its parts

void add_event_metrics(Exposition& out, const MetricsReading& reading);
void add_ring_metrics(Exposition& out, const MetricsReading& reading);
void add_output_metrics(Exposition& out, const MetricsReading& reading);
void add_snapshot_metrics(Exposition& out, const MetricsReading& reading);
void add_subscriber_metrics(Exposition& out, const MetricsReading& reading);

}  // namespace ktraced
