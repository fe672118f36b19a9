// SPDX-License-Identifier: BSD-2-Clause
// Traces of the stream, written one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/missed_hits.h"
#include "daemon/output_queue.h"
#include "daemon/trace_store.h"
#include "trace/manifest.h"
#include "trace/stream_continuity.h"
#include "trace/trace_writer.h"

namespace ktraced {

// What a series of traces has to know of the tracer; called on the series' thread,
// unless it says otherwise.
struct TraceFacts {
  std::function<Manifest()> manifest;     // origin and schema
  std::function<InForce()> in_force;      // called on the main thread
  std::function<HitCounts()> missed;      // on any thread
  std::function<uint64_t()> follow_lost;  // processes that could not be followed so far
  std::function<std::vector<std::byte>()> names;
  std::function<std::optional<std::string>(uint64_t address)> symbol;
};

// Called at any time, on any thread.
[[nodiscard]] MissedReading read_missed(const TraceFacts& facts);

// Writes the packets of a stream into trace directories, each readable on its own and the next
// beginning where it ends. Everything that fails may be called again when the cause is gone:
// nothing has been lost by it. Belongs to one thread.
class TraceSeries {
 public:
  // Nothing is made before the first packet.
  TraceSeries(TraceFacts facts, BeginSeries begin);

  // Takes the next packet; begins a trace if there is none, of which with those of before at
  // most `max_files` stay. Fails with ExitCode::io; the packet is not in a trace then.
  Result<> take(const PacketView& packet, uint32_t max_files);
  // Ends the trace with what has been taken; the next packet begins another. Fails with
  // ExitCode::io.
  Result<> finish_trace();
  // Leaves the trace unfinished; returns where, or nothing if there is none.
  std::optional<std::filesystem::path> give_up();
  // Something else is traced from a time on that has not been promised yet.
  void change(Change change) { changes_.push_back(std::move(change)); }
  // How many hits were skipped at some time.
  void note_missed(MissedReading reading) { missed_.note(std::move(reading), begin_ns_); }
  // A reason why the trace, or the next one if there is none, is not complete.
  void add_problem(std::string problem);
  // Packets up to this time will not come: they could not be written.
  void skip(uint64_t until_ns, std::string_view why);
  // The next trace is made in another directory; after finish_trace() or give_up().
  void move_to(std::filesystem::path directory);
  // Names were lost on the way: asks for all.
  void ask_for_names();

  // Of the trace that is being written; empty and 0 if there is none.
  [[nodiscard]] std::string name() const { return writer_ ? manifest_.name : ""; }
  [[nodiscard]] uint64_t bytes() const { return writer_ ? writer_->bytes() : 0; }
  // On disk, of what it began with: names that the trace before knew, and descriptions.
  [[nodiscard]] uint64_t carried_bytes() const { return carried_bytes_; }
  // Of the last trace that was finished; empty if none was.
  [[nodiscard]] const std::string& last_name() const { return last_name_; }
  // Trace directories there, finished or not; as of the last begin or end of one.
  [[nodiscard]] size_t files() const { return files_; }
  // Records in traces that somebody has removed while they were written.
  [[nodiscard]] uint64_t removed_records() const { return removed_records_; }

 private:
  Result<> begin_trace(uint32_t max_files);
  Result<> claim_directory();
  void make_room(uint32_t max_files);
  void note_crash();
  void add_first_names();
  void take_names(const PacketView& packet);
  void note_changes();
  void check_still_there();
  void add_shortfalls();
  void end_trace(uint64_t end_ns);
  [[nodiscard]] Manifest manifest() const;
  [[nodiscard]] std::map<uint64_t, std::string> symbols() const;

  TraceFacts facts_;
  TraceStore store_;
  bool claimed_ = false;
  std::unique_ptr<TraceWriter> writer_;
  Manifest manifest_;  // of the trace: what was known when it began; its schema stays here
  InForce in_force_;
  std::deque<Change> changes_;  // not promised yet
  uint64_t begin_ns_;           // of the trace
  uint64_t complete_until_;     // promised by the stream
  uint64_t last_check_ns_ = 0;  // check_still_there()
  MissedHits missed_;
  uint64_t follow_lost_;  // told so far
  StreamContinuity continuity_;
  std::vector<std::string> problems_;
  std::vector<std::byte> last_names_;  // known when the trace before ended
  std::string last_name_;
  size_t files_ = 0;
  uint64_t carried_bytes_ = 0;
  uint64_t removed_records_ = 0;
};

}  // namespace ktraced
