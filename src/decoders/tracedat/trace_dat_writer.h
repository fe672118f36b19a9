// SPDX-License-Identifier: BSD-2-Clause
// Writes traces in the format of trace-cmd.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/tracedat/event_layout.h"
#include "decoders/tracedat/ring_buffer_pages.h"
#include "trace/directory/manifest.h"

namespace ktraced {

// A source of events. What it refers to must outlive the writer.
struct TraceDatSource {
  DecoderSources sources;
  const Manifest& manifest;
};

// Takes the events of several traces in time order, as one history. docs/trace-dat.md describes how
// events are converted. Memory: a page for each CPU, the names of threads, and the pages until they
// are taken.
class TraceDatWriter : public MergeSink {
 public:
  // CPUs with this number or a larger one are not written: the format has a place for each number.
  static constexpr uint32_t kMaxCpus = 8192;

  // The index in `sources` is RecordOrigin::source.
  explicit TraceDatWriter(const std::vector<TraceDatSource>& sources);

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  // Call after the last event.
  void finish();

  // A CPU whose events were left out, because its number is too large.
  [[nodiscard]] std::optional<uint32_t> refused_cpu() const { return refused_cpu_; }
  // Events that do not fit into a page even without their text. They are marked as lost.
  [[nodiscard]] uint64_t too_long() const { return too_long_; }

  // The pages of each CPU so far; the caller takes and clears them.
  [[nodiscard]] std::map<uint32_t, RingBufferPages>& cpus() { return cpus_; }
  // The beginning of the file, when all pages have been taken. `bytes`: taken, of each CPU.
  [[nodiscard]] std::string header(const std::map<uint32_t, uint64_t>& bytes) const;

 private:
  struct Source {
    explicit Source(const TraceDatSource& of) : trace(of), text(of.sources) {}

    TraceDatSource trace;
    FtraceDecoder text;
    std::unordered_map<uint32_t, const EventLayout*> layouts;  // by event id
  };
  const EventLayout& layout_of(Source& source, uint32_t id);
  const EventLayout& lay_out(Event event);
  RingBufferPages* pages_of(uint32_t cpu);
  void name_thread(const NameTable& names, RecordView record);
  void lose(uint32_t cpu, RingBufferPages& pages, uint64_t count);
  void mark_loss_at_end(uint32_t cpu, RingBufferPages& pages);
  [[nodiscard]] std::string comms() const;
  [[nodiscard]] std::string stats_of(uint32_t cpu) const;

  // How events are laid out: the same in all sources that describe them in the same way.
  std::vector<std::pair<Event, std::unique_ptr<EventLayout>>> layouts_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<uint32_t, RingBufferPages> cpus_;
  std::map<uint32_t, EventAccount> accounts_;        // of each CPU: events written and lost
  std::unordered_map<uint32_t, std::string> comms_;  // last name of each thread
  std::optional<uint32_t> refused_cpu_;
  TextBuffer text_;
  std::string event_;
  uint64_t last_ns_ = 0;
  uint64_t too_long_ = 0;
};

}  // namespace ktraced
