// SPDX-License-Identifier: BSD-2-Clause
// Live input for reports.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ctl/input/analysis_feed.h"
#include "ctl/input/report_input.h"
#include "ctl/live/batch_merger.h"
#include "ctl/live/live_source.h"
#include "ctl/live/remote_symbols.h"
#include "ctl/live/session_counts.h"
#include "ctl/live/stream_loop.h"
#include "ctl/terminal/stop_signals.h"
#include "trace/metadata/event_records.h"
#include "trace/symbols/build_ids.h"

namespace ktraced {

// The stream of a daemon, for a number of seconds or until a signal ends it.
class LiveInput : public ReportInput {
 public:
  // Opens a session with `events`, by name, group or pattern, and of system calls with `calls`
  // alone. Where one of them is empty, the session has what the recorder has. Fails if the daemon
  // cannot be reached, or with its error.
  static Result<std::unique_ptr<ReportInput>> subscribe(const std::string& socket,
                                                        std::optional<double> seconds,
                                                        const std::vector<std::string>& events,
                                                        const std::vector<std::string>& calls);

  Result<> read(Analysis& analysis) override;
  void refresh(const Refresh& how) override { refresh_ = how; }
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override;
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override;
  void add_files(TraceStacks& stacks) override;
  void find_symbols(const std::vector<uint64_t>& addresses) override;
  std::string_view symbol(uint64_t address) override;
  [[nodiscard]] Result<> verdict() const override;

 private:
  LiveInput(std::string socket, std::optional<double> seconds, std::set<std::string> calls,
            StopSignals signals, LiveSource source);
  Result<StreamLoop::End> run(BatchMerger& merger);
  void refresh_in(StreamLoop& loop, const BatchMerger& merger);
  void apply_metadata(RecordView record, AnalysisFeed& feed);

  std::string socket_;
  std::optional<double> seconds_;
  std::set<std::string> calls_;  // that the session was opened for; empty: for no certain ones
  StopSignals signals_;
  LiveSource source_;
  Schema schema_;  // grows with the stream
  NameTable names_;
  ConfigRecordReader config_reader_;
  RemoteSymbols symbols_;
  std::optional<BuildIds> build_ids_;  // once they are asked for
  SessionCounts counts_;
  nlohmann::json configs_;  // the trace configs, in the format of manifests
  std::optional<Refresh> refresh_;
  uint64_t end_ns_ = 0;
  bool at_end_ = false;  // of the stream
  Result<> ended_;
};

}  // namespace ktraced
