// SPDX-License-Identifier: BSD-2-Clause
// A session of the daemon, for rates by process or system call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "ctl/input/analysis_feed.h"
#include "ctl/input/options.h"
#include "ctl/input/selected_analysis.h"
#include "ctl/live/batch_merger.h"
#include "ctl/live/live_source.h"
#include "ctl/live/read_ahead.h"
#include "ctl/live/session_counts.h"
#include "ctl/rates/activity_rates.h"
#include "ctl/rates/background_call.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

// Reads the stream of a session, which ends with this.
class ActivitySession {
 public:
  // Opens a session with what `view` needs. To be called by a BackgroundCall: attaching programs
  // takes time. Fails with the daemon's error.
  static Result<LiveSource> open(const std::string& socket, TopView view, const TopCommand& command,
                                 CallHandle& handle);
  // Fails for conditions of `command` that the schema does not know.
  static Result<std::unique_ptr<ActivitySession>> over(LiveSource source, TopView view,
                                                       const TopCommand& command);
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  // Readable when read() is to be called.
  [[nodiscard]] int fd() const { return packets_->fd(); }
  // Takes what has arrived. Fails if the daemon has ended the stream.
  [[nodiscard]] Result<> read();
  // How much time, since the last take() or the beginning, has arrived completely.
  [[nodiscard]] double seconds() const;
  // The rates of this time.
  [[nodiscard]] TopTable take();

 private:
  ActivitySession(LiveSource source, std::vector<Selection> selections, TopView view);
  void apply_metadata(RecordView record);

  LiveSource source_;
  Schema schema_;  // grows with the stream
  NameTable names_;
  ConfigRecordReader config_reader_;
  SessionCounts counts_;
  std::vector<Selection> selections_;
  SourceSelector selector_;
  uint64_t since_ns_;  // of take(), CLOCK_BOOTTIME
  std::unique_ptr<ActivityRates> rates_;
  SelectedAnalysis selected_;
  AnalysisFeed feed_;
  BatchMerger merger_;
  std::unique_ptr<ReadAhead> packets_;
};

}  // namespace ktraced
