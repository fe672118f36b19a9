// SPDX-License-Identifier: BSD-2-Clause
// Reports on what happens now.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ctl/live_source.h"
#include "ctl/pass_merger.h"
#include "ctl/remote_symbols.h"
#include "ctl/report_input.h"
#include "ctl/scope_marks.h"
#include "ctl/stop_signals.h"
#include "ctl/stream_loop.h"

namespace ktraced {

// The stream of a daemon, for so many seconds or until a signal ends it.
class LiveInput : public ReportInput {
 public:
  // Subscribes. Fails if no daemon can be asked, and as the daemon answers.
  static Result<std::unique_ptr<ReportInput>> subscribe(const std::string& socket,
                                                        std::optional<double> seconds);

  Result<> read(Analysis& analysis) override;
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override;
  std::string_view symbol(uint64_t address) override;
  [[nodiscard]] Result<> verdict() const override;

 private:
  LiveInput(std::string socket, std::optional<double> seconds, StopSignals signals,
            LiveSource source);
  [[nodiscard]] nlohmann::json status() const;
  [[nodiscard]] nlohmann::json missed() const;
  [[nodiscard]] const nlohmann::json& scope_config() const;
  Result<StreamLoop::End> run(PassMerger& merger);
  void take_name(RecordView record, ScopeMarks& marks);

  std::string socket_;
  std::optional<double> seconds_;
  StopSignals signals_;
  LiveSource source_;
  Schema schema_;  // grows with the stream
  NameTable names_;
  RemoteSymbols symbols_;
  nlohmann::json before_, after_;  // the daemon's status; null: it could not be asked
  nlohmann::json scopes_;          // what was traced, as manifests have it
  uint64_t end_ns_ = 0;
  Result<> ended_;
};

}  // namespace ktraced
