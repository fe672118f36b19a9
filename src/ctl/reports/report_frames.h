// SPDX-License-Identifier: BSD-2-Clause
// A live report that is drawn repeatedly on a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "ctl/input/report_input.h"
#include "ctl/terminal/full_screen.h"

namespace ktraced {

// The text that `make` returns in a child process: whatever it changes in memory stays as it was.
// Fails if the child cannot be started, has failed, or takes longer than `limit`: it is killed
// then.
[[nodiscard]] Result<std::string> text_of_child(const std::function<std::string()>& make,
                                                std::chrono::steady_clock::duration limit);

// Draws the report on all events so far, at intervals, until it is destroyed. A report on
// unfinished events ends intervals and removes rows, so a child process makes it, which has a copy
// of the analysis.
class ReportFrames {
 public:
  // On standard output. Create it before other threads, see FullScreen.
  static Result<std::unique_ptr<ReportFrames>> every(std::chrono::nanoseconds interval);

  // The argument of ReportInput::refresh(), which this must outlive. `make` returns the report as
  // text.
  [[nodiscard]] Refresh refresh(std::function<std::string()> make);

 private:
  ReportFrames(FullScreen screen, std::chrono::nanoseconds interval)
      : screen_(std::move(screen)), interval_(interval) {}

  FullScreen screen_;
  std::chrono::nanoseconds interval_;
};

}  // namespace ktraced
