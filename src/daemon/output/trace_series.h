// SPDX-License-Identifier: BSD-2-Clause
// A series of traces of the stream, one after the other.
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
#include "daemon/access/address_mask.h"
#include "daemon/capture/missed_hits.h"
#include "daemon/output/output_queue.h"
#include "daemon/output/trace_order.h"
#include "daemon/output/trace_store.h"
#include "kernel/rings/stream_account.h"
#include "trace/directory/manifest.h"
#include "trace/directory/trace_writer.h"
#include "trace/packet/stream_continuity.h"
#include "trace/symbols/build_ids.h"

namespace ktraced {

// What a series of traces needs from the tracer. Called in the series' thread, unless stated
// otherwise.
struct TraceFacts {
  std::function<Manifest()> manifest;            // origin and schema
  std::function<SharedConfig()> current_config;  // called in the main thread
  std::function<HitCounts()> missed;             // in any thread
  std::function<uint64_t()> follow_lost;         // processes that could not be followed so far
  std::function<std::vector<std::byte>()> names;
  std::function<std::optional<std::string>(uint64_t address)> symbol;
  // Calls add_user_code().
  std::function<void(TraceWriter&, const RealStart&)> user_code = nullptr;
  std::function<StreamAccount*()> account = nullptr;
  // Returns Rings::lost_before().
  std::function<std::optional<uint64_t>()> lost_before = nullptr;
  // Returns what describe_losses() says of the objects that this daemon has replaced.
  std::function<std::vector<std::string>()> replaced = nullptr;
  // Lets programs write all stacks again, see Counters::restart_stacks(); in any thread.
  std::function<void()> renew_stacks = nullptr;
  // Returns ReaderAccess::mask_for_trace(); without this function, traces have real addresses.
  std::function<std::shared_ptr<AddressMask>(const Schema& schema)> mask = nullptr;
  RealtimeClock realtime = system_realtime();
};

// What the output has done since the daemon started, whatever its settings were.
struct OutputCounts {
  uint64_t written_bytes = 0;
  uint64_t traces = 0;        // begun
  uint64_t evicted = 0;       // removed because of stream.output.max_files
  uint64_t write_errors = 0;  // failed attempts to write

  OutputCounts& operator+=(const OutputCounts& other);
};

// Thread-safe.
[[nodiscard]] MissedReading read_missed(const TraceFacts& facts);

// Writes the packets of a stream into trace directories. Each can be read on its own, and the next
// begins where it ends. A call that has failed may be repeated when the cause is gone: nothing has
// been lost. Belongs to one thread.
class TraceSeries {
 public:
  // Creates nothing before the first packet.
  TraceSeries(TraceFacts facts, BeginSeries begin);

  // Writes the next packet. Begins a trace if there is none, and then keeps at most `max_files` of
  // the earlier ones. Fails with ExitCode::io; the packet is not in a trace then.
  Result<> take(const PacketView& packet, uint32_t max_files);
  // Ends the trace with the packets written so far; the next packet begins another. Fails with
  // ExitCode::io.
  Result<> finish_trace();
  // Ends the account: nothing more will be written.
  void end_account();
  // Leaves the trace unfinished. Returns its path, or nothing if there is no trace.
  std::optional<std::filesystem::path> give_up();
  // Adds a config change at a time after the current watermark.
  void change(Change change) { changes_.push_back(std::move(change)); }
  // Adds a reading of the missed hits.
  void note_missed(MissedReading reading) { missed_.note(std::move(reading), begin_ns_); }
  // A reason why the trace, or the next one if there is none, is not complete.
  void add_problem(std::string problem);
  // Packets up to this time could not be written, and will not come.
  void skip(uint64_t until_ns, std::string_view why);
  // The next trace is created in another directory; after finish_trace() or give_up().
  void move_to(std::filesystem::path directory);

  // The name and size of the current trace; empty and 0 if there is none.
  [[nodiscard]] std::string name() const { return writer_ ? manifest_.name : ""; }
  [[nodiscard]] uint64_t bytes() const { return writer_ ? writer_->bytes() : 0; }
  // The size on disk of what the trace began with: names from the previous trace, and event
  // definitions.
  [[nodiscard]] uint64_t carried_bytes() const { return carried_bytes_; }
  // The name of the last finished trace; empty if there is none.
  [[nodiscard]] const std::string& last_name() const { return last_name_; }
  // Trace directories, finished or not, as of the last begin or end of a trace.
  [[nodiscard]] size_t files() const { return files_; }
  // Records in traces that were removed by others while they were written.
  [[nodiscard]] uint64_t removed_records() const { return removed_records_; }
  // What this series has done.
  [[nodiscard]] OutputCounts counts() const;

 private:
  Result<> begin_trace(uint32_t max_files);
  Result<> claim_directory();
  Result<> make_room(uint32_t max_files);
  void note_lost_before(const std::vector<StoredTrace>& unfinished,
                        const std::vector<StoredTrace>& finished);
  Result<> write(const PacketView& packet);
  [[nodiscard]] std::vector<std::byte> names_now();
  void add_first_names();
  void add_names(const PacketView& packet);
  void note_changes();
  void check_still_there();
  void add_shortfalls();
  void end_trace(uint64_t end_ns);
  [[nodiscard]] StreamAccount* account() const {
    return facts_.account ? facts_.account() : nullptr;
  }
  [[nodiscard]] Manifest manifest() const;
  [[nodiscard]] std::map<uint64_t, std::string> symbols() const;

  [[nodiscard]] nlohmann::json shown(const nlohmann::json& config) const;

  TraceFacts facts_;
  TraceStore store_;
  bool claimed_ = false;
  std::unique_ptr<TraceWriter> writer_;
  std::shared_ptr<AddressMask> mask_;  // of the trace; null: it has real addresses
  Manifest manifest_;  // of the trace: what was known at its beginning; its schema stays here
  SharedConfig current_config_;
  std::deque<Change> changes_;  // after the current watermark
  uint64_t begin_ns_;           // of the trace
  uint64_t complete_until_;     // the watermark
  uint64_t last_check_ns_ = 0;  // check_still_there()
  MissedHits missed_;
  uint64_t account_generation_;  // of StreamAccount
  uint64_t follow_lost_;         // reported so far
  StreamContinuity continuity_;
  std::vector<std::string> problems_;
  std::vector<std::byte> last_names_;  // known when the previous trace ended
  std::string last_name_;
  size_t files_ = 0;
  uint64_t carried_bytes_ = 0;
  uint64_t removed_records_ = 0;
  OutputCounts counts_;  // without the bytes of the current trace
};

}  // namespace ktraced
