// SPDX-License-Identifier: BSD-2-Clause
// System calls as slices in a Perfetto trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "analysis/intervals/call_tracker.h"
#include "decoders/perfetto/perfetto_names.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "decoders/perfetto/perfetto_stacks.h"

namespace ktraced {

// Draws the calls of a CallTracker, on the tracks of their threads. A call whose end will not be
// known ends at the last time when it was known to run, and the return is a separate instant.
// Memory: the calls that are drawn and have not ended, and at most kMaxTitles titles each of
// calls and of returns.
class PerfettoSyscalls : public CallSink {
 public:
  static constexpr size_t kMaxTitles = 4096;

  // Takes the calls of `tracker`, which must not get events after the end of this. Threads must be
  // known to `names` before their calls begin.
  PerfettoSyscalls(CallTracker& tracker, PerfettoPackets& packets, PerfettoNames& names,
                   PerfettoStacks& stacks)
      : packets_(packets), names_(names), stacks_(stacks) {
    tracker.add_sink(*this);
  }
  PerfettoSyscalls(const PerfettoSyscalls&) = delete;
  PerfettoSyscalls& operator=(const PerfettoSyscalls&) = delete;

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;
  void on_interrupt(uint64_t ts, Unknown why) override;
  void on_new_id(uint32_t from, uint32_t to, uint64_t ts) override;

 private:
  using Titles = std::unordered_map<uint64_t, uint64_t>;  // interned, by ABI and number of the call

  void draw_begin(const Call& call, const CallRecord& at, uint64_t track);
  uint64_t callstack_of(const CallRecord& at) { return stacks_.callstack_of(at.record, at.names); }
  void draw_return(const CallReturn& returned, uint64_t track);
  void end_unknown(uint64_t track, uint64_t ts, std::string_view why);
  void add_result(const CallReturn& returned, protozero::pbf_writer& event);
  void intern();
  template <class Text>
  uint64_t title_in(Titles& titles, uint32_t abi, int32_t nr, Text&& text);
  uint64_t title_of(const Call& call);
  uint64_t title_of(const CallReturn& returned);

  PerfettoPackets& packets_;
  PerfettoNames& names_;
  PerfettoStacks& stacks_;
  uint64_t category_ = 0, args_ = 0, ret_ = 0, error_ = 0, end_ = 0;  // interned
  Titles titles_, return_titles_;
  std::unordered_map<uint32_t, uint64_t> drawn_;  // tracks, by thread in a call
};

}  // namespace ktraced
