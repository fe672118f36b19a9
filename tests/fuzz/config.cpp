// SPDX-License-Identifier: BSD-2-Clause
// The configuration file and two drop-ins. What is accepted is within the documented limits, its
// filter prints and parses back equal, and the merged text means the same as the files. What is
// refused has a line for each problem, safe for a log.
#include "daemon/config/config.h"

#include <bit>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"
#include "daemon/config/config_files.h"
#include "fuzz/fuzz.h"
#include "kernel/probes/probe_grammar.h"

namespace ktraced::fuzz {
namespace {

// The groups declared by the records.
EventGroups declared_groups() {
  EventGroups groups;
  std::string event;
  std::ifstream lines(KTRACED_SOURCE_DIR "/bpf/records.h");
  for (std::string line; std::getline(lines, line);) {
    char name[64];
    if (std::sscanf(line.c_str(), "struct rec_%63[a-z_] {", name) == 1) event = name;
    if (std::sscanf(line.c_str(), "} GROUP(\"%63[a-z]\")", name) == 1)
      groups[name].push_back(event);
  }
  require(!groups.empty(), "records.h declares groups");
  return groups;
}

const EventGroups& groups() {
  static const EventGroups declared = declared_groups();
  return declared;
}

bool same(const Config& a, const Config& b) {
  return a.events == b.events && a.probes == b.probes && a.filter == b.filter &&
         a.stream == b.stream && a.flight == b.flight && a.control.socket == b.control.socket &&
         a.control.group == b.control.group && a.control.admin_uids == b.control.admin_uids &&
         a.log.level == b.log.level && a.persist == b.persist && a.bpffs == b.bpffs;
}

void check_accepted(const Config& config, std::span<const ConfigText> files) {
  require(std::has_single_bit(config.flight.buffer_kb), "flight.buffer_kb is a power of two");
  require(std::has_single_bit(config.stream.buffer_kb), "stream.buffer_kb is a power of two");
  require(config.flight.directory.is_absolute() && config.bpffs.is_absolute(),
          "directories are absolute");
  for (const std::string& probe : config.probes) {
    const auto parsed = parse_probes(probe);
    require(parsed && parsed->size() == 1, "each probe is one definition", probe);
  }
  const auto filter = merge_filter({}, filter_to_json(config.filter));
  require(filter && *filter == config.filter, "a filter prints and parses back equal",
          filter ? "" : filter.error().message);
  const auto merged = merge_config(files);
  require(merged.root.has_value(), "what is accepted has a value");
  const ConfigText whole{.file = "merged.json", .text = merged.root->dump()};
  const auto again = parse_config(std::span(&whole, 1), groups());
  require(again && same(*again, config), "the merged text means the same", whole.text);
}

}  // namespace

void check_input(std::string_view input) {
  const auto parts = parts_of(input, 3);
  std::vector<ConfigText> files = {{.file = "ktraced.json", .text = std::string(parts[0])}};
  for (const std::string_view part : {parts[1], parts[2]})
    if (!part.empty()) files.push_back({.file = "drop-in.json", .text = std::string(part)});
  const auto config = parse_config(files, groups());
  if (config) return check_accepted(*config, files);
  require_error(config.error(), ExitCode::config);
  require(printable_lines(config.error().message) == config.error().message,
          "a message is printable", config.error().message);
}

}  // namespace ktraced::fuzz
