// SPDX-License-Identifier: BSD-2-Clause
// The source of a report's events.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/task_history.h"
#include "analysis/stacks/trace_stacks.h"
#include "base/error.h"
#include "ctl/selection/selection.h"
#include "ctl/selection/wall_clocks.h"

namespace ktraced {

// Facts beside the numbers of a report: its window, and what may be missing.
struct ReportFacts {
  uint64_t begin_ns = 0;  // window, CLOCK_BOOTTIME
  uint64_t end_ns = 0;
  // In the traces all CPUs have their records from `common_ns` on, and the first one has them from
  // `furthest_ns` on. See TraceWindow.
  uint64_t common_ns = 0;
  uint64_t furthest_ns = 0;
  // Times in the window that are left out, in time order: not all CPUs have them or, if the window
  // is one that not all CPUs have, none has.
  std::vector<TimeWindow> gaps;
  std::vector<ClockOffset> clocks;  // of its sources, in time order
  // From this time on there is a record of every hit, except for losses that are reported where
  // they happened. UINT64_MAX: not known for any time.
  uint64_t whole_since_ns = 0;
  std::vector<std::string> caveats;   // why not from the beginning: one sentence each
  std::vector<std::string> left_out;  // events that the report needs and --event leaves out
  bool commands_complete = true;      // see Manifest
  nlohmann::json sources;             // [{"path","kind","host","complete","incomplete_because"}]
  nlohmann::json accounts;            // event → {"missed","overwritten"} if any

  // Adds a reason why hits before `ns` may be missing; UINT64_MAX: up to the end.
  void caveat(std::string why, uint64_t until_ns = UINT64_MAX);
};

// Adds "window", "sources" and "caveats" to a report.
void add_facts(nlohmann::json& report, const ReportFacts& facts);

// Shows a report while its input is read. The functions return false if nobody sees it any more.
struct Refresh {
  std::chrono::nanoseconds interval{};
  std::function<bool()> draw;       // may call facts() and symbol()
  int signal_fd = -1;               // readable when `on_signal` is to be called
  std::function<bool()> on_signal;  // draws the same again, as for another size
};

// Traces, or a live stream.
class ReportInput {
 public:
  virtual ~ReportInput() = default;
  // Gives all events and config changes to `analysis`. Where a CPU's history begins in the middle,
  // it also gives a loss with count 0. Fails if there is nothing to report.
  virtual Result<> read(Analysis& analysis) = 0;
  // Call before read(), which then calls these functions, if it waits for events.
  virtual void refresh(const Refresh& /*how*/) {}
  // Call after the last event. `needed`: the events of which the analysis needs every hit.
  [[nodiscard]] virtual ReportFacts facts(const std::vector<std::string>& needed) = 0;
  // Call after the last event. The events that were enabled at any time; nothing if unknown.
  [[nodiscard]] virtual std::optional<std::set<std::string>> traced() const = 0;
  // The selections by `args` for each source, in the order of add_source(). Fails as
  // Selection::make() does.
  [[nodiscard]] virtual Result<std::vector<Selection>> select(const SelectionArgs& args) const = 0;
  // All tasks and CPUs of traces; none of a stream.
  [[nodiscard]] virtual KnownTasks tasks() const { return {}; }
  // Call after the last event. What traces know of tasks also before the window, and by events that
  // --event leaves out; null: the analysis has got all of it. `always`: even then.
  [[nodiscard]] virtual std::unique_ptr<TaskHistory> lives(bool /*always*/) const {
    return nullptr;
  }
  // Call after the last event. The selecting options that no event met, as typed, with reasons;
  // empty: none.
  [[nodiscard]] virtual std::string unmet_selection() const { return {}; }
  // May events of traces have stacks? Not known of a stream.
  [[nodiscard]] virtual bool has_stacks() const { return false; }
  // Call after the last event. Adds the stacks that traces have outside the window; a stream has
  // all that its events need.
  virtual void read_stacks(TraceStacks& /*stacks*/) {}
  // Call after the last event. Adds what is known of code beside the events: build ids of mapped
  // files, and functions that processes had made. Of a stream, build ids of files on this machine.
  virtual void add_files(TraceStacks& stacks) = 0;
  // Finds the symbols of these addresses at once, so that symbol() does not ask for each by itself.
  virtual void find_symbols(const std::vector<uint64_t>& /*addresses*/) {}
  // Function and offset at a kernel address; empty if unknown. Valid until the next call.
  virtual std::string_view symbol(uint64_t address) = 0;
  // Call after the last event. Fails if a part could not be read.
  [[nodiscard]] virtual Result<> verdict() const = 0;
};

// The clocks in the window of a report.
[[nodiscard]] std::vector<ClockOffset> clocks_of(const nlohmann::json& report);

// The length of the window of a report without its gaps: what rates are over.
[[nodiscard]] uint64_t covered_ns(const nlohmann::json& report);
// "0.990 s, from 63.160000 to 64.150000 after boot (…)": covered_ns(), and the window.
[[nodiscard]] std::string window_text(const nlohmann::json& report);
// How CPUs differ in that window: it is less than some have, "4.940 s on the CPU that reaches
// furthest back, from 59.210000", or more than all have; and its gaps. Empty if they do not differ
// and there are none.
[[nodiscard]] std::string reach_text(const nlohmann::json& report);

// The sources of the events and the time window, as text: the lines above a report.
[[nodiscard]] std::string facts_text(const nlohmann::json& report);

// Adds caveats for the hits of the events `needed` that the kernel has missed: `missed`, by event.
void caveat_missed(const std::vector<std::string>& needed, const nlohmann::json& missed,
                   ReportFacts& facts);

}  // namespace ktraced
