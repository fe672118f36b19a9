// SPDX-License-Identifier: BSD-2-Clause
// From events in time order to text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ctl/selection.h"
#include "decoders/decoder.h"
#include "trace/merge.h"
#include "trace/name_table.h"

namespace ktraced {

// Decodes what is selected into a buffer. Losses are always shown, unless events were
// selected by name: then only those events' losses are.
class EventPrinter : public MergeSink {
 public:
  // When to end; nothing: never.
  struct Limits {
    std::optional<uint64_t> events;
    std::optional<uint64_t> ns;  // after the time of the first item
  };
  struct Totals {
    uint64_t shown = 0;
    uint64_t lost = 0;
  };
  // Where events come from; all outlive the printer.
  struct Source {
    const Selection& selection;
    const NameTable& names;
    Decoder& decoder;
  };

  explicit EventPrinter(const Limits& limits) : limits_(limits) {}
  // The first one added is RecordOrigin::source 0, and so on.
  void add_source(const Source& source) { sources_.push_back(source); }

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;

  // Decoded so far; the caller writes and clears it.
  [[nodiscard]] TextBuffer& out() { return out_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // A limit has been reached; nothing is added any more.
  [[nodiscard]] bool full() const { return full_; }

  // What is older than that is a backlog, which begins now and ends with what is not, or when
  // end_backlog() says that nothing older comes.
  void begin_backlog(uint64_t until_ns);
  void end_backlog(uint64_t complete_until);

 private:
  [[nodiscard]] bool has_ended(uint64_t ts);

  Limits limits_;
  std::vector<Source> sources_;
  TextBuffer out_;
  Totals totals_;
  std::optional<uint64_t> first_ts_;
  std::optional<uint64_t> backlog_until_;  // as long as it has not ended
  bool full_ = false;
};

}  // namespace ktraced
