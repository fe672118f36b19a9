// The configuration file, checked and ready to use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/filter_settings.h"

namespace ktraced {

// Which built-in events a group setting turns on.
struct GroupSelection {
  bool all = false;                 // the whole group
  std::vector<std::string> events;  // or these
};

struct Config {
  // Names of enabled events, in the order of the event ids.
  std::vector<std::string> events;
  // Selected system calls by name; empty: all.
  std::vector<std::string> syscalls_only;
  FilterSettings filter;
  struct {
    uint32_t buffer_kb = 4096;  // per CPU; a power of two
    uint32_t max_latency_ms = 100;
  } stream;
  struct {
    std::filesystem::path socket = "/run/ktraced/control.sock";
    std::string group;              // members may read; empty: root only
    std::vector<uint32_t> admin_uids;  // may command, beside root
  } control;
  struct {
    std::string level = "info";
  } log;
};

// An event group with its members, for resolving the "events" section.
using EventGroups = std::map<std::string, std::vector<std::string>, std::less<>>;

// Parses and checks the text of a configuration file named `file`. Any failure
// is ExitCode::config, names file, line and key, and says what would be right.
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view file,
                                          const EventGroups& groups);
[[nodiscard]] Result<Config> load_config(const std::filesystem::path& file,
                                         const EventGroups& groups);

}  // namespace ktraced
