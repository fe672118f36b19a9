// SPDX-License-Identifier: BSD-2-Clause
// Several traces read as one history.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trace/directory/trace_reader.h"
#include "trace/merge/deduplicator.h"
#include "trace/merge/merge.h"

namespace ktraced {

// Delivers the records of all CPUs of all traces in time order, with losses in their places and
// without duplicates of overlapping traces. Keeps one packet in memory for each CPU file that
// covers the current time, and none of later traces, so memory does not depend on their size.
// Move-only.
class History {
 public:
  // TraceReader::open(), or a function that knows other forms of traces too.
  using OpenTrace =
      std::function<Result<TraceReader>(const std::filesystem::path& trace, bool allow_unfinished)>;
  // A trace that is given twice is read once. Fails as `open_trace` does, and with ExitCode::usage
  // for traces whose times cannot be compared.
  static Result<History> open(std::span<const std::filesystem::path> paths,
                              bool allow_unfinished = false,
                              const OpenTrace& open_trace = TraceReader::open);
  // Reads the same part of the same traces from its beginning; manifests and names are shared. Must
  // be used by the same thread.
  [[nodiscard]] History again() const;
  // Leaves out all CPUs but these, which are sorted. Call it before the first read().
  void read_only_cpus(std::vector<uint32_t> cpus) { cpus_ = std::move(cpus); }

  // Sorted by their begin; the index is RecordOrigin::source.
  [[nodiscard]] const std::vector<TraceReader>& traces() const { return *traces_; }

  // Limits what is read to a part, before the first read(). Packets before it are skipped by their
  // headers, so damage in them is not found; packets after it are not read. A loss that begins
  // before the part and ends in it or after it is at its begin.
  void set_window(const TimeWindow& window) { window_ = window; }
  [[nodiscard]] const TimeWindow& window() const { return window_; }
  // Leaves out the records in these times, which are sorted and apart, before the first read(). A
  // loss that begins in one of them is at its end.
  void leave_out(std::vector<TimeWindow> times) { left_out_ = std::move(times); }
  // Is nothing limited, by a window or by times that are left out?
  [[nodiscard]] bool is_whole() const { return window_.is_all() && left_out_.empty(); }
  // Leaves out packets that end before `ns`, before the first read(). Of other packets everything
  // is given, so each CPU begins somewhere before `ns`. A loss that is going on at `ns` is given at
  // that time: from then on, all is as if nothing had been left out. Only for a single trace
  // without a window.
  void begin_at(uint64_t ns) { begin_ns_ = ns; }
  // From the first to the last record of a trace; of an unfinished one, what it has now. Ends
  // before it begins if there are no records.
  [[nodiscard]] TimeWindow extent(size_t source);

  // The rest of the events of a CPU in a trace, which cannot be read because a file is damaged or
  // missing.
  struct Unreadable {
    uint32_t source = 0;
    uint32_t cpu = 0;
    uint64_t ts = 0;  // no event before it is missing; ns, CLOCK_BOOTTIME
  };
  // Calls `notify` for each, before any later event is given. Call it before the first read().
  void on_unreadable(std::function<void(const Unreadable&)> notify) {
    notify_unreadable_ = std::move(notify);
  }

  // Gives `sink` the next records; false: there are no more.
  bool read(MergeSink& sink);

  // All parts that could not be read so far, as one error; call it after the last read().
  [[nodiscard]] Result<> verdict() const;
  // Duplicates that were removed.
  [[nodiscard]] uint64_t repeated() const { return deduplicator_.repeated(); }
  // Everything up to this time has been given to sinks; ns, CLOCK_BOOTTIME.
  [[nodiscard]] uint64_t read_until() const { return released_until_; }
  // Packets that have been read.
  [[nodiscard]] uint64_t packets() const { return packets_; }

 private:
  // A file that is being read, and up to when its records are in the merger.
  struct Stream {
    uint32_t source;
    PacketFile file;
    uint64_t end_ns = 0;
  };

  explicit History(std::shared_ptr<std::vector<TraceReader>> traces) : traces_(std::move(traces)) {}
  void begin_traces();
  void begin_trace(uint32_t source);
  Result<> skip(PacketFile& file) const;
  void release(uint64_t until, MergeSink& sink);
  void report_missing_files(uint32_t source, const std::vector<PacketFile>& files);
  // No event of the file after `read_until` can be read.
  void report_unreadable(uint32_t source, uint32_t cpu, uint64_t read_until);
  void refill();
  bool refill(Stream& stream);
  [[nodiscard]] uint64_t complete_until() const;
  [[nodiscard]] bool reads(uint32_t cpu) const;

  std::shared_ptr<std::vector<TraceReader>> traces_;
  std::optional<std::vector<uint32_t>> cpus_;  // nothing: all
  TimeWindow window_;
  std::vector<TimeWindow> left_out_;
  uint64_t begin_ns_ = 0;
  size_t begun_ = 0;  // traces whose files are or were open
  std::vector<Stream> streams_;
  Merger merger_;
  uint64_t released_until_ = 0;
  uint64_t packets_ = 0;
  bool overlapping_ = false;
  Deduplicator deduplicator_;
  std::function<void(const Unreadable&)> notify_unreadable_;  // may be empty
};

}  // namespace ktraced
