// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/lost_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "bpf/records.h"

namespace ktraced {

std::vector<std::byte> lost_names_record(const LostNamesWindow& window) {
  return record_bytes(rec_metadata_lost_names{.h = {.ts = window.from,
                                                    .id = METADATA_lost_names,
                                                    .size = sizeof(rec_metadata_lost_names),
                                                    .tid = 0},
                                              .until = window.until});
}

std::optional<LostNamesWindow> lost_names_of(RecordView view) {
  rec_metadata_lost_names record;
  if (view.id() != METADATA_lost_names || view.bytes().size() < sizeof(record)) return std::nullopt;
  std::memcpy(&record, view.bytes().data(), sizeof(record));
  if (record.until < record.h.ts) return std::nullopt;
  return LostNamesWindow{.from = record.h.ts, .until = record.until};
}

std::vector<std::byte> lost_commands_record() {
  return record_bytes(rec_metadata_lost_commands{.h = {.ts = 0,
                                                       .id = METADATA_lost_commands,
                                                       .size = sizeof(rec_metadata_lost_commands),
                                                       .tid = 0}});
}

std::vector<std::byte> unread_commands_record() {
  return record_bytes(
      rec_metadata_unread_commands{.h = {.ts = 0,
                                         .id = METADATA_unread_commands,
                                         .size = sizeof(rec_metadata_unread_commands),
                                         .tid = 0}});
}

void LostNames::add(RecordView record) {
  commands_read_ = commands_read_ && record.id() != METADATA_unread_commands;
  commands_ = commands_ || record.id() == METADATA_lost_commands;
  if (const auto window = lost_names_of(record)) add(*window);
}

// Windows come almost in time order. Beyond the limit the two that are closest are joined.
void LostNames::add(const LostNamesWindow& window) {
  windows_.insert(std::ranges::upper_bound(windows_, window.from, {}, &LostNamesWindow::from),
                  window);
  const auto gap = [&](size_t i) {
    const uint64_t end = windows_[i].until, begin = windows_[i + 1].from;
    return begin - std::min(begin, end);
  };
  const auto join = [&](size_t i) {
    windows_[i].until = std::max(windows_[i].until, windows_[i + 1].until);
    windows_.erase(windows_.begin() + static_cast<ptrdiff_t>(i) + 1);
  };
  for (size_t i = 0; i + 1 < windows_.size();)
    if (gap(i) <= kJoinedNs)
      join(i);
    else
      ++i;
  if (windows_.size() <= kMaxWindows) return;
  size_t closest = 0;
  for (size_t i = 1; i + 1 < windows_.size(); ++i)
    if (gap(i) < gap(closest)) closest = i;
  join(closest);
}

std::string LostNames::text() const {
  std::vector<std::string> times;
  times.reserve(windows_.size());
  for (const LostNamesWindow& window : windows_)
    times.push_back(fmt::format("from {:.3f} to {:.3f} s", static_cast<double>(window.from) / 1e9,
                                static_cast<double>(window.until) / 1e9));
  std::string text;
  if (!times.empty())
    text = fmt::format(
        "threads may carry wrong names {} after boot: names that they got then are missing",
        fmt::join(times, ", "));
  if (commands_)
    text += fmt::format("{}command lines of processes are missing: the daemon had no room for them",
                        text.empty() ? "" : "; ");
  return text;
}

}  // namespace ktraced
