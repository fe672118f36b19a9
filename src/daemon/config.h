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

namespace ktraced {

// Which built-in events a group setting turns on.
struct GroupSelection {
  bool all = false;                 // the whole group
  std::vector<std::string> events;  // or these
};

// One side of a filter, as written: values within a list are alternatives, lists are all required.
struct FilterSide {
  std::vector<uint32_t> pid;        // process or thread ids
  std::vector<uint32_t> uid;
  std::vector<std::string> comm;    // exact, or a beginning with a trailing '*'
  std::vector<uint32_t> follow;     // processes whose tree is meant
  std::vector<std::string> cgroup;  // cgroup v2 paths, absolute or below the cgroup mount

  bool operator==(const FilterSide&) const = default;
  [[nodiscard]] bool empty() const { return *this == FilterSide{}; }
};

struct FilterSettings {
  FilterSide include;
  FilterSide exclude;

  bool operator==(const FilterSettings&) const = default;
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
