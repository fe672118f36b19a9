// SPDX-License-Identifier: BSD-2-Clause
// Reports on trace directories.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ctl/input/report_input.h"
#include "ctl/input/time_selection.h"
#include "trace/merge/history.h"

namespace ktraced {

// Trace directories, read as one history.
class TraceInput : public ReportInput {
 public:
  // Fails as History::open() and select_times() do.
  static Result<std::unique_ptr<ReportInput>> open(const std::vector<std::string>& directories,
                                                   bool partial, const TimeArgs& times);

  Result<> read(Analysis& analysis) override;
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override;
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override;
  std::string_view symbol(uint64_t address) override;
  [[nodiscard]] Result<> verdict() const override { return history_.verdict(); }

 private:
  explicit TraceInput(History history) : history_(std::move(history)) {}

  History history_;
};

}  // namespace ktraced
