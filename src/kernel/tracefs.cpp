// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracefs.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/directory.h"
#include "base/read_file.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlaces[] = {"/sys/kernel/tracing/events",
                                   "/sys/kernel/debug/tracing/events"};

constexpr size_t kFormatBytes = 1U << 20;  // at most

// Events that are there for ftrace's own use: nothing can be attached to them.
constexpr std::string_view kFtraceOnly = "ftrace";

}  // namespace

Result<Tracefs> Tracefs::open() {
  std::error_code error;
  for (const char* place : kPlaces) {
    fs::directory_iterator entries(place, error);
    if (!error && entries != fs::directory_iterator()) return Tracefs(place);
    if (error == std::errc::permission_denied)
      return fail(ExitCode::unavailable,
                  "tracepoints cannot be read from {}: run ktraced as root or with the capability "
                  "CAP_DAC_READ_SEARCH",
                  place);
  }
  return fail(ExitCode::unavailable,
              "tracefs, which describes tracepoints, is not mounted: run "
              "'mount -t tracefs tracefs /sys/kernel/tracing'");
}

std::vector<std::string> Tracefs::tracepoints() const {
  std::vector<std::string> names;
  for_each_entry(events_, [&](const fs::directory_entry& system) {
    const std::string group = system.path().filename();
    std::error_code ignored;
    if (group == kFtraceOnly || !system.is_directory(ignored)) return;
    for_each_entry(system.path(), [&](const fs::directory_entry& event) {
      if (event.is_directory(ignored))
        names.push_back(fmt::format("{}:{}", group, event.path().filename().string()));
    });
  });
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
