// SPDX-License-Identifier: BSD-2-Clause
// The configuration file, checked and ready to use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/install_paths.h"
#include "kernel/filters/filter_settings.h"
#include "kernel/stacks/sample_period.h"

namespace ktraced {

struct ConfigText;

// Which events are recorded: a section "events".
struct EventsConfig {
  // Names of built-in events, group by group, in the groups' order.
  std::vector<std::string> names;
  // Tracepoints of the running kernel, as names or patterns: "irq:irq_handler_entry", "block:*".
  std::vector<std::string> tracepoints;
  // Selected system calls by name; empty: all.
  std::vector<std::string> syscalls_only;

  bool operator==(const EventsConfig&) const = default;
};

// The stream kept in files: trace directories, one after the other.
struct StreamOutput {
  std::filesystem::path directory;
  uint32_t max_file_mb = 256;  // size of one trace directory before rotation
  uint32_t max_files = 8;      // trace directories kept; the oldest are removed
  // Nothing: those of the recorder.
  std::optional<EventsConfig> events;
  std::optional<FilterSettings> filter;

  bool operator==(const StreamOutput&) const = default;
};

// The flight recorder and its snapshots.
struct FlightConfig {
  bool enabled = true;
  uint32_t buffer_kb = 8192;  // of each CPU and bank; a power of two
  uint32_t banks = 2;         // one is being written, the others are spare
  std::filesystem::path directory = kDefaultSnapshotDirectory;
  uint32_t max_snapshots = 16;   // snapshots kept; the oldest are removed
  uint32_t max_total_mb = 2048;  // all of them together

  bool operator==(const FlightConfig&) const = default;
};

// Sizes of stream rings, powers of two.
inline constexpr uint32_t kStreamRingKbMin = 64;
inline constexpr uint32_t kStreamRingKbMax = 1U << 20;

// The rings from which the stream is read.
struct StreamConfig {
  uint32_t buffer_kb = 4096;  // per CPU and session, if it fits; a power of two
  uint32_t total_mb = 256;    // all rings of all sessions together, at most
  uint32_t max_latency_ms = 100;
  bool realtime = true;                // its threads run before those of normal programs
  std::optional<StreamOutput> output;  // nothing: no trace files

  bool operator==(const StreamConfig&) const = default;
};

// Whether the events of a group have catchers, which record the hits that the kernel skips.
enum class Exact {
  when_needed,  // "auto": if hits would be skipped otherwise
  always,
  never,
};
struct ExactConfig {
  Exact kmem = Exact::when_needed;
  Exact syscalls = Exact::when_needed;

  bool operator==(const ExactConfig&) const = default;
};

// Which events of the recorder have stacks, and how stacks are taken for all sessions.
struct StacksConfig {
  std::vector<std::string> events;
  bool kernel = true;
  bool user = true;
  uint32_t depth = 64;  // frames of each stack
  // By event: one of so many hits of a CPU has stacks; others: all.
  std::map<std::string, uint32_t> every;

  bool operator==(const StacksConfig&) const = default;
};

// How samples are taken, for all sessions.
struct SamplingConfig {
  SamplePeriod period;
  bool kernel = true;  // stacks of the kernel
  bool user = true;    // and of processes

  bool operator==(const SamplingConfig&) const = default;
};

struct Config {
  EventsConfig events;
  StacksConfig stacks;
  std::optional<SamplingConfig> sampling;  // nothing: as by default, if a session has samples
  ExactConfig exact;
  // Kernel probes, a definition each.
  std::vector<std::string> probes;
  FilterSettings filter;
  StreamConfig stream;
  FlightConfig flight;
  struct {
    std::filesystem::path socket = kDefaultSocket;
    std::string group = "ktrace";      // members may read; empty: root only
    std::vector<uint32_t> admin_uids;  // have full control, as root does
    std::string addresses = "auto";    // kernel addresses for readers: "auto" or "real"
    std::string readers_see = "all";   // events of all processes, or of their "own"
  } control;
  struct {
    std::string level = "info";
  } log;
  struct {
    std::string listen;  // see metrics_address(); empty: no metrics
  } metrics;
  bool persist = false;  // kernel objects stay active when the daemon stops
  std::filesystem::path bpffs = "/sys/fs/bpf/ktraced";  // where they are pinned
  std::filesystem::path file;                           // from which it was read
  // The drop-ins it was read from, besides the file.
  std::vector<std::filesystem::path> drop_ins;
};

// An event group with its members, for resolving the "events" section.
using EventGroups = std::map<std::string, std::vector<std::string>, std::less<>>;

// Is it a group of its own that "syscalls" selects in that section: other records of the calls?
[[nodiscard]] bool is_part_of_syscalls(std::string_view group);

// Merges the texts of configuration files in order (merge_config()), and checks the whole. Any
// failure is ExitCode::config. The message has a line for each problem, with file, line and key,
// and what would be valid.
[[nodiscard]] Result<Config> parse_config(std::span<const ConfigText> files,
                                          const EventGroups& groups);
// Reads a configuration file and its drop-ins (read_config_files()).
[[nodiscard]] Result<Config> load_config(const std::filesystem::path& file,
                                         const EventGroups& groups);

// The filter as JSON: {"pid":[],"uid":[],"comm":[],"follow":[],"cgroup":[],"exclude":{the same}}.
[[nodiscard]] nlohmann::json filter_to_json(const FilterSettings& filter);
// `current` with the keys given in `patch` replaced; the same checks as for the configuration
// file. A bad value is ExitCode::usage.
[[nodiscard]] Result<FilterSettings> merge_filter(FilterSettings current,
                                                  const nlohmann::json& patch);
// `current` without the values of these keys: "comm", "exclude.uid", "syscall". An unknown key is
// ExitCode::usage.
[[nodiscard]] Result<FilterSettings> without_keys(const FilterSettings& current,
                                                  const std::vector<std::string>& keys);

}  // namespace ktraced
