// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/tracefs.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/files/directory.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlaces[] = {"/sys/kernel/tracing/events",
                                   "/sys/kernel/debug/tracing/events"};

constexpr size_t kFormatBytes = 1U << 20;  // at most

// Internal events of ftrace: programs cannot attach to them.
constexpr std::string_view kFtraceOnly = "ftrace";

}  // namespace

Result<Tracefs> Tracefs::open() { return open_at(kPlaces); }

Result<Tracefs> Tracefs::open_at(std::span<const char* const> places) {
  for (const char* place : places) {
    bool empty = true;
    const auto read = for_each_entry(place, [&](const auto&) { empty = false; });
    if (read && !empty) return Tracefs(place);
    if (read || read.error().code == ExitCode::data) continue;
    if (read.error().code == ExitCode::no_permission)
      return fail(ExitCode::unavailable,
                  "tracepoints cannot be read from {}: run ktraced as root or with the capability "
                  "CAP_DAC_READ_SEARCH",
                  place);
    return std::unexpected(read.error());
  }
  return fail(ExitCode::unavailable,
              "tracefs, which describes tracepoints, is not mounted: run "
              "'mount -t tracefs tracefs /sys/kernel/tracing'");
}

Result<std::vector<std::string>> Tracefs::tracepoints() const {
  std::vector<std::string> names;
  Result<> result;
  // A tracepoint that disappears during the walk belonged to an unloaded module: no error.
  auto note = [&](const Result<>& read) {
    if (!read && read.error().code != ExitCode::data && result) result = read;
  };
  note(for_each_entry(events_, [&](const fs::directory_entry& system) {
    const std::string group = system.path().filename();
    std::error_code ignored;
    if (group == kFtraceOnly || !system.is_directory(ignored)) return;
    note(for_each_entry(system.path(), [&](const fs::directory_entry& event) {
      if (event.is_directory(ignored))
        names.push_back(fmt::format("{}:{}", group, event.path().filename().string()));
    }));
  }));
  if (!result) return propagate(result);
  std::ranges::sort(names);
  return names;
}

Result<std::string> Tracefs::format(const std::string& system, const std::string& name) const {
  const fs::path path = events_ / system / name / "format";
  auto text = read_file(path, kFormatBytes);
  if (!text) return fail(ExitCode::unavailable, "{}", text.error().message);
  if (text->empty())
    return fail(ExitCode::unavailable, "cannot read {}: it is empty", path.string());
  return text;
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace ktraced
