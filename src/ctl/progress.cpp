#include "ctl/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "ctl/table.h"

namespace ktraced {

namespace {

constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "{}", kClearLine);
}

void Progress::update(const EventAccount& total, uint64_t bytes) {
  if (!shown_) return;
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const auto news = static_cast<double>(total.records - last_events_);
  fmt::print(stderr, "{}{}", kClearLine, text(total, seconds > 0 ? news / seconds : 0, bytes));
  std::fflush(stderr);
  last_ = now;
  last_events_ = total.records;
}

std::string Progress::text(const EventAccount& total, double events_per_second, uint64_t bytes) {
  return fmt::format("{} events ({}/s), {} lost, {}", grouped(total.records),
                     grouped(static_cast<uint64_t>(events_per_second)), grouped(total.lost),
                     bytes_text(bytes));
}

}  // namespace ktraced
