// SPDX-License-Identifier: BSD-2-Clause
// Takes, keeps, lists and deletes snapshots of the flight recorder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/access/reader_access.h"
#include "daemon/capture/tracer.h"
#include "daemon/config/config.h"
#include "daemon/output/trace_store.h"
#include "daemon/runtime/background_work.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/snapshots/bank_queue.h"
#include "daemon/snapshots/retention_log.h"
#include "daemon/snapshots/snapshot_list.h"
#include "daemon/snapshots/snapshot_writer.h"
#include "kernel/symbols/symbols.h"

namespace ktraced {

struct SnapshotRequest {
  std::string name;  // empty: derived from the time
  std::string reason;
  std::string requested_by;
};

// The snapshots, as listed.
struct SnapshotListing {
  std::filesystem::path directory;
  std::vector<SnapshotEntry> snapshots;
  std::vector<std::string> writing;  // names of those being written
};

// What this daemon has done.
struct SnapshotCounts {
  uint64_t written = 0;
  uint64_t failed = 0;   // taken, but not written
  uint64_t refused = 0;  // not taken: no spare bank, no room, invalid
  uint64_t last_ns = 0;  // CLOCK_REALTIME, when the last one was on disk; 0: there is none
  std::chrono::nanoseconds last_duration{};  // from the swap of the banks until it was on disk
};

// The snapshots, in short.
struct SnapshotsStatus {
  uint32_t banks = 0;
  uint64_t ring_bytes = 0;  // of each CPU and bank
  std::filesystem::path directory;
  size_t frozen = 0;    // banks being written, or waiting for it
  size_t waiting = 0;   // requests for a spare bank
  std::string unsaved;  // why banks of an earlier daemon are not written yet; empty: there are none
  Result<SnapshotList::Sum> sum;  // or why the directory cannot be read
  RetentionCounts retention;
  SnapshotCounts counts;
};

struct SnapshotTaken {
  std::string name;
  std::filesystem::path path;
};

// Takes snapshots: swaps the banks at once; a separate thread writes the frozen bank. Belongs to
// the main thread.
class Snapshots {
 public:
  // Called once, when the snapshot has been synced to disk or has failed.
  using OnWritten = std::function<void(const Result<SnapshotSummary>& written)>;
  using OnTaken = std::function<void(const Result<SnapshotTaken>& taken)>;
  using OnDone = std::function<void(const Result<>& done)>;

  // All must outlive this.
  Snapshots(EventLoop& loop, const TracerParts& tracer, KernelSymbols& symbols,
            const ReaderAccess& access, const FlightConfig& config);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  // Waits for snapshots that are being written; cancels the reading of manifests.
  ~Snapshots() { stop_reading_.request_stop(); }

  // Handles what an earlier daemon left: writes the banks it has frozen, and removes its unfinished
  // files of them. Banks stay frozen until they are on disk. Fails with ExitCode::unavailable,
  // before any change, if another daemon writes to the directory while the recorder is on.
  Result<> begin();
  // Applies another configuration to snapshots taken from now on.
  void apply(const FlightConfig& config);

  // Freezes the history up to now. Fails with ExitCode::usage for an invalid name or reason,
  // ExitCode::io if the directory is not writable, ExitCode::unavailable if the recorder is off or
  // has no spare bank. A failure changes nothing, and `on_written` is not called.
  Result<SnapshotTaken> take(const SnapshotRequest& request, OnWritten on_written);
  // Takes a snapshot when there is a spare bank, for which it waits up to `timeout`; requests are
  // served in order. `on_taken` is called once, perhaps before this returns, and gets the errors of
  // take() and the timeout. A request that waits is dropped when `connected` returns false.
  void take_or_wait(const SnapshotRequest& request, std::chrono::milliseconds timeout,
                    const std::function<bool()>& connected, const OnTaken& on_taken,
                    const OnWritten& on_written);
  // Fails at once with ExitCode::usage if the snapshot is being written. `on_deleted` gets all
  // other errors, in the main thread.
  Result<> remove(const std::string& name, OnDone on_deleted);
  // Protects a snapshot from retention, or ends that. One that is being written is kept when it is
  // written. `on_done` gets the result, in the main thread.
  void set_kept(const std::string& name, bool kept, OnDone on_done);

  // Call back in the main thread, when unknown manifests have been read. status() does not wait for
  // long ones: it then counts all traces that may be snapshots. Requests of low priority wait for
  // those of normal priority.
  using OnRead = std::function<void(const SnapshotsStatus& status)>;
  using OnListed = std::function<void(const Result<SnapshotListing>& listing)>;
  void list(OnListed then, Priority priority = Priority::normal);
  void status(OnRead then, Priority priority = Priority::normal);

  // Takes no more snapshots, fails requests that wait, and calls `done` when none is being written
  // any more. `persist`: banks that cannot be written are left for the next daemon.
  void finish(bool persist, std::function<void()> done);

 private:
  struct Writing {
    SnapshotTaken snapshot;
    std::string reason;
    FlightRecorder::Frozen frozen;
    LostByCpu unrecorded;
    std::chrono::steady_clock::time_point begun;
    bool recovery = false;  // of a bank that an earlier daemon has frozen
    OnWritten on_written;
  };

  struct Written {
    SnapshotSummary summary;
    Enforced enforced;
  };

  struct StatusRequest {
    OnRead then;
    EventSource timer;
  };

  Result<SnapshotTaken> swap_and_write(const SnapshotRequest& request, OnWritten on_written);
  void count(const Writing& done, bool written);
  [[nodiscard]] SnapshotsStatus status_now() const;
  void answer_status(uint64_t id);
  void call_if_finished();
  [[nodiscard]] std::string free_name(std::string_view prefix) const;
  [[nodiscard]] bool writing(const std::string& name) const;
  [[nodiscard]] Result<> check_request(const SnapshotRequest& request) const;
  [[nodiscard]] Result<> check_request_name(const std::string& name) const;
  [[nodiscard]] Result<> check_ready() const;
  [[nodiscard]] bool must_wait() const;
  void serve_waiting();
  [[nodiscard]] LostByCpu unrecorded() const;
  void mask(SnapshotJob& job) const;
  SnapshotTaken write(const FlightRecorder::Frozen& frozen, const SnapshotRequest& request,
                      OnWritten on_written, bool recovery);
  // See snapshot_recovery.cpp.
  void recover();
  [[nodiscard]] Result<bool> is_saved(const FlightRecorder::Frozen& frozen) const;
  void keep_unsaved(const std::string& why);
  void on_written(uint64_t id, const Result<Written>& result);

  EventLoop& loop_;
  const TracerParts& tracer_;
  KernelSymbols& symbols_;
  const ReaderAccess& access_;
  FlightConfig config_;
  std::shared_ptr<TraceStore> store_;  // shared with the jobs begun in it
  Result<SnapshotList::Sum> sum_;      // as far as known
  std::map<uint64_t, Writing> writing_;
  BankQueue waiting_;
  RetentionLog retention_log_;
  SnapshotCounts counts_;
  std::map<uint64_t, StatusRequest> status_requests_;
  std::vector<std::string> lost_before_;         // see describe_losses(); until a snapshot has them
  std::vector<FlightRecorder::Frozen> unsaved_;  // frozen by an earlier daemon; not being written
  std::string unsaved_because_;                  // last reported reason; empty: none
  EventSource retry_;                            // recover()
  uint64_t last_id_ = 0;
  std::function<void()> finished_;  // set by finish()
  bool persist_ = false;            // set by finish()
  std::stop_source stop_reading_;
  SnapshotList list_{stop_reading_.get_token()};  // used by reader_
  BackgroundWork reader_;                         // last, with thread_: their tasks use the rest
  BackgroundWork thread_;
};

}  // namespace ktraced
