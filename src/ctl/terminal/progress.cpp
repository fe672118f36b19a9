// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/print_stderr.h"
#include "ctl/terminal/table.h"

namespace ktraced {

namespace {

constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

StatusLine::StatusLine() : shown_(::isatty(STDERR_FILENO) == 1) {}

StatusLine::~StatusLine() {
  if (shown_) print_stderr("{}", kClearLine);
}

void StatusLine::show(std::string_view text) const {
  if (!shown_) return;
  print_stderr("{}{}", kClearLine, text);
  std::fflush(stderr);
}

void Progress::update(const EventAccount& total, uint64_t bytes) {
  if (!line_.shown()) return;
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const auto unreported = static_cast<double>(total.records - last_events_);
  line_.show(text(total, seconds > 0 ? unreported / seconds : 0, bytes));
  last_ = now;
  last_events_ = total.records;
}

std::string Progress::text(const EventAccount& total, double events_per_second, uint64_t bytes) {
  return fmt::format("{} events ({}/s), {} lost, {}", grouped(total.records),
                     grouped(static_cast<uint64_t>(events_per_second)), grouped(total.lost),
                     bytes_text(bytes));
}

}  // namespace ktraced
