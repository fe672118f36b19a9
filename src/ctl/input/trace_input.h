// SPDX-License-Identifier: BSD-2-Clause
// Reports on trace directories.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ctl/input/analysis_feed.h"
#include "ctl/input/config_caveats.h"
#include "ctl/input/report_input.h"
#include "ctl/selection/time_selection.h"
#include "trace/merge/history.h"

namespace ktraced {

// Trace directories, read as one history.
class TraceInput : public ReportInput {
 public:
  // Reads the events that `times` select. Without a beginning in `times`, only those of the times
  // that all CPUs have in any of the traces, unless `times` end before that. Fails as
  // History::open() and select_times() do.
  static Result<std::unique_ptr<ReportInput>> open(const std::vector<std::string>& directories,
                                                   bool partial, const TimeArgs& times);

  // Reads the events of `history`, which is limited to `times`.
  explicit TraceInput(History history, TimeArgs times = {})
      : history_(std::move(history)), times_(std::move(times)) {}

  Result<> read(Analysis& analysis) override;
  // read() in pieces: begins to give the events to `analysis`, and gives it the next ones until
  // false, after which there are no more. `analysis` must outlive the last call.
  void begin(Analysis& analysis);
  bool read_more();
  // Everything up to this time has been given, apart from config changes; advance() gives those up
  // to `ns`.
  [[nodiscard]] uint64_t read_until() const { return history_.read_until(); }
  void advance(uint64_t ns) { feed_->advance(ns); }
  // Packets that have been read.
  [[nodiscard]] uint64_t packets() const { return history_.packets(); }
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  // The caveats in facts() that come from the trace config.
  [[nodiscard]] std::vector<ConfigCaveat> caveats_of_config(std::span<const std::string> needed,
                                                            Needed of_each = Needed::content);
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override;
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override;
  [[nodiscard]] KnownTasks tasks() const override;
  [[nodiscard]] std::unique_ptr<TaskHistory> lives(bool always) const override;
  [[nodiscard]] std::string unmet_selection() const override;
  [[nodiscard]] bool has_stacks() const override;
  void read_stacks(TraceStacks& stacks) override;
  void add_files(TraceStacks& stacks) override { stacks.add_files(history_); }
  std::string_view symbol(uint64_t address) override;
  [[nodiscard]] Result<> verdict() const override { return history_.verdict(); }

 private:
  // Limits the events to the times that all CPUs have in any of the traces.
  void limit_to_all_cpus();
  // The times of each trace; of an unfinished one, those that it had at the first call.
  const std::vector<TimeWindow>& extents();
  // From here on all CPUs have their records, in the trace where this is first; 0: there are none.
  uint64_t common_ns();
  // The times that a trace covers: of all CPUs, or, unless the events are limited to those, of any.
  TimeWindow covered(size_t source);
  // The times between those that the traces cover.
  std::vector<TimeWindow> gaps();

  History history_;
  TimeArgs times_;
  bool of_all_cpus_ = false;  // see limit_to_all_cpus()
  std::vector<TimeWindow> extents_;
  std::optional<AnalysisFeed> feed_;
};

}  // namespace ktraced
