// SPDX-License-Identifier: BSD-2-Clause
// Snapshots of the flight recorder: taken, kept, listed and deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config.h"
#include "daemon/event_loop.h"
#include "daemon/snapshot_list.h"
#include "daemon/snapshot_writer.h"
#include "daemon/trace_store.h"
#include "daemon/tracer.h"
#include "daemon/work_thread.h"
#include "kernel/symbols.h"

namespace ktraced {

struct SnapshotRequest {
  std::string name;  // empty: one is made up from the time
  std::string reason;
  std::string requested_by;
};

struct SnapshotTaken {
  std::string name;
  std::filesystem::path path;
};

// Takes snapshots: swaps the banks at once and has the frozen one written by a thread of its
// own. Belongs to the main thread.
class Snapshots {
 public:
  // Called once, when the snapshot is safe on disk or has failed.
  using OnWritten = std::function<void(const Result<SnapshotSummary>& written)>;
  using OnDeleted = std::function<void(const Result<>& deleted)>;

  // All must outlive this.
  Snapshots(EventLoop& loop, Tracer& tracer, KernelSymbols& symbols, const FlightConfig& config);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  // Waits for what is being written.
  ~Snapshots() = default;

  // Deals with what an earlier daemon left: banks it froze are written, and what it has written
  // of them goes. They stay frozen until they are on disk. Fails with ExitCode::unavailable, before
  // anything, if another daemon writes to the directory while the recorder is on.
  Result<> begin();
  // Puts another configuration into force, for snapshots taken from now on.
  void apply(const FlightConfig& config);

  // Freezes the history up to now. Fails with ExitCode::usage for a bad name or reason,
  // ExitCode::io if the directory cannot take it, ExitCode::unavailable if the recorder is off or
  // has no spare bank; then nothing has happened, and `on_written` is not called.
  Result<SnapshotTaken> take(const SnapshotRequest& request, OnWritten on_written);
  // Fails at once with ExitCode::usage if it is being written. Everything else that can go wrong
  // is told to `on_deleted`, in the main thread.
  Result<> remove(const std::string& name, OnDeleted on_deleted);

  // For the method `snapshot.list`, and what `status` says beside the recorder's own state.
  [[nodiscard]] nlohmann::json list();
  [[nodiscard]] nlohmann::json status();

  // Takes no more snapshots, and calls `done` when none is being written any more. `persist`:
  // banks that cannot be written are left for the next daemon.
  void finish(bool persist, std::function<void()> done);

 private:
  struct Writing {
    SnapshotTaken snapshot;
    std::string reason;
    FlightRecorder::Frozen frozen;
    LostByCpu unrecorded;
    bool recovery = false;  // of what an earlier daemon froze
    OnWritten on_written;
  };

  void call_if_finished();
  [[nodiscard]] std::string free_name(std::string_view prefix) const;
  [[nodiscard]] bool writing(const std::string& name) const;
  Result<> check_request_name(const std::string& name) const;
  Result<> check_ready() const;
  [[nodiscard]] LostByCpu unrecorded() const;
  SnapshotTaken write(const FlightRecorder::Frozen& frozen, const SnapshotRequest& request,
                      OnWritten on_written, bool recovery);
  // Those of recovery.
  void recover();
  [[nodiscard]] bool is_saved(const FlightRecorder::Frozen& frozen);
  void keep_unsaved(const std::string& why);
  void on_written(uint64_t id, const Result<SnapshotSummary>& result);

  EventLoop& loop_;
  Tracer& tracer_;
  KernelSymbols& symbols_;
  FlightConfig config_;
  std::shared_ptr<TraceStore> store_;  // shared with the jobs begun in it
  SnapshotList list_;
  std::map<uint64_t, Writing> writing_;
  std::vector<FlightRecorder::Frozen> unsaved_;  // by an earlier daemon; not being written
  std::string unsaved_because_;                  // told last; empty: nothing was
  EventSource retry_;                            // recover()
  uint64_t last_id_ = 0;
  std::function<void()> finished_;       // set by finish()
  bool persist_ = false;                 // the same
  WorkThread thread_{"ktraced-writer"};  // last: its tasks use the rest
};

}  // namespace ktraced
