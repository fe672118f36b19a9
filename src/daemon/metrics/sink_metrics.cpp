// SPDX-License-Identifier: BSD-2-Clause
// The metrics of what leaves the daemon: snapshots, the traces of stream.output, subscribers.
#include <algorithm>

#include "daemon/metrics/metrics_reading.h"

namespace ktraced {
namespace {

void add_stored_snapshots(Exposition& out, const SnapshotsStatus& status) {
  const SnapshotList::Sum sum = status.sum.value_or(SnapshotList::Sum{});
  out.gauge("ktraced_snapshots_readable", "1 if the directory of snapshots can be read.")
      .sample(status.sum ? 1 : 0);
  out.gauge("ktraced_snapshots_stored", "Snapshots on disk.").sample(sum.count);
  out.gauge("ktraced_snapshots_stored_bytes", "Their size.").sample(sum.bytes);
  out.gauge("ktraced_snapshots_kept", "Those that are protected from eviction.").sample(sum.kept);
  out.counter("ktraced_snapshots_evicted_total",
              "Snapshots removed because of flight.max_snapshots or flight.max_total_mb.")
      .sample(status.retention.evicted);
  out.counter("ktraced_snapshots_evicted_bytes_total", "Their size.")
      .sample(status.retention.evicted_bytes);
  out.counter("ktraced_snapshots_limits_exceeded_total",
              "Snapshots after which kept ones alone exceeded the limits.")
      .sample(status.retention.limits_exceeded);
}

}  // namespace

void add_snapshot_metrics(Exposition& out, const MetricsReading& reading) {
  const SnapshotsStatus& status = reading.snapshots;
  out.counter("ktraced_snapshots_total",
              "Requests for snapshots by result: success: on disk; failure: taken, but not "
              "written; refused: not taken.")
      .sample(status.counts.written, {{"result", "success"}})
      .sample(status.counts.failed, {{"result", "failure"}})
      .sample(status.counts.refused, {{"result", "refused"}});
  out.gauge("ktraced_snapshots_in_progress", "Frozen banks: being written, or waiting for it.")
      .sample(status.frozen);
  out.gauge("ktraced_snapshots_waiting", "Requests that wait for a spare bank.")
      .sample(status.waiting);
  out.gauge("ktraced_snapshots_unsaved", "1 if what an earlier daemon recorded cannot be written.")
      .sample(status.unsaved.empty() ? 0 : 1);
  out.gauge("ktraced_snapshot_last_duration_seconds",
            "Time from the swap of the banks until the last snapshot was on disk.")
      .sample(std::chrono::duration<double>(status.counts.last_duration).count());
  out.gauge("ktraced_snapshot_last_time_seconds",
            "When the last snapshot of this daemon was on disk, in seconds since 1970; 0: there "
            "is none.")
      .sample(static_cast<double>(status.counts.last_ns) / 1e9);
  add_stored_snapshots(out, status);
}

void add_output_metrics(Exposition& out, const MetricsReading& reading) {
  const OutputStatus& output = reading.output;
  out.gauge("ktraced_output_enabled", "1 if stream.output is on.").sample(output.settings ? 1 : 0);
  out.gauge("ktraced_output_failing", "1 if stream.output cannot be written at the moment.")
      .sample(output.failing ? 1 : 0);
  out.counter("ktraced_output_write_errors_total", "Failed attempts to write it.")
      .sample(output.counts.write_errors);
  out.counter("ktraced_output_written_bytes_total", "Bytes written to its traces.")
      .sample(output.counts.written_bytes);
  out.counter("ktraced_output_traces_total", "Traces begun.").sample(output.counts.traces);
  out.counter("ktraced_output_evicted_traces_total",
              "Traces removed because of stream.output.max_files.")
      .sample(output.counts.evicted);
  out.gauge("ktraced_output_traces", "Traces in its directory.").sample(output.files);
  out.gauge("ktraced_output_queued_bytes", "Bytes that wait to be written.")
      .sample(output.queued_bytes);
  out.counter("ktraced_output_lost_events_total",
              "Events that could not be written, since stream.output was turned on.")
      .sample(output.lost_events);
}

void add_subscriber_metrics(Exposition& out, const MetricsReading& reading) {
  uint64_t queued = 0, longest = 0;
  for (const SubscriberStatus& subscriber : reading.subscribers) {
    queued += subscriber.queued_bytes;
    longest = std::max<uint64_t>(longest, subscriber.queued_bytes);
  }
  out.gauge("ktraced_subscribers", "Readers of streams.").sample(reading.subscribers.size());
  out.gauge("ktraced_subscriber_queued_bytes", "Bytes in the queues of all subscribers.")
      .sample(queued);
  out.gauge("ktraced_subscriber_longest_queue_bytes", "Bytes in the longest queue.")
      .sample(longest);
  out.counter("ktraced_subscriber_sent_packets_total", "Packets sent to subscribers.")
      .sample(reading.subscriber_totals.sent_packets);
  out.counter("ktraced_subscriber_lost_events_total",
              "Events that subscribers did not get because they read too slowly.")
      .sample(reading.subscriber_totals.lost_events);
  out.counter("ktraced_subscribers_closed_total",
              "Subscribers closed because they left 16 MiB of metadata other than names unread.")
      .sample(reading.subscriber_totals.closed);
}

}  // namespace ktraced
