// SPDX-License-Identifier: BSD-2-Clause
// Prints events in time order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ctl/selection/selection.h"
#include "decoders/text/decoder.h"
#include "trace/merge/merge.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Decodes selected events into a buffer. Losses are always shown. If events are selected by name,
// only losses of these events are shown.
class EventPrinter : public MergeSink {
 public:
  // When to stop printing; nothing: no limit.
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

  // The decoded text. The caller writes and clears it.
  [[nodiscard]] TextBuffer& out() { return out_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // True if a limit has been reached; further events are ignored.
  [[nodiscard]] bool full() const { return full_; }

 private:
  [[nodiscard]] bool has_ended(uint64_t ts);

  Limits limits_;
  std::vector<Source> sources_;
  TextBuffer out_;
  Totals totals_;
  std::optional<uint64_t> first_ts_;
  bool full_ = false;
};

}  // namespace ktraced
