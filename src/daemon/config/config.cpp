// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <map>
#include <unordered_set>

#include "base/fd.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"
#include "bpf/shared_state.h"
#include "daemon/config/config_json.h"
#include "daemon/config/config_node.h"
#include "daemon/config/config_rings.h"
#include "daemon/config/filter_json.h"
#include "kernel/probes/probe_grammar.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr off_t kFileMax = 1U << 20;
constexpr size_t kAdminsMax = 1024;
constexpr size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

// Enabled when the configuration has no "events" section: cheap enough for any machine.
constexpr std::array<std::string_view, 4> kDefaultGroups = {"sched", "process", "signal", "oom"};

constexpr std::string_view kTracepoints = "tracepoints";

template <class T>
bool contains(const T& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

// ---- events ----

// {"only": ["openat", …]}
void read_syscalls_only(const ConfigNode& node, Config& config) {
  if (!node.object({"only"})) return;
  auto only = node.member("only");
  if (!only) return node.problem("must have \"only\", a list of system calls");
  if (only->value().is_array() && only->value().empty())
    return only->problem("must name at least one system call; true instead means all of them");
  read_syscalls(*only, config.syscalls_only);
}

std::string_view group_of(std::string_view event, const EventGroups& groups) {
  for (const auto& [group, events] : groups)
    if (contains(events, event)) return group;
  return {};
}

// The events of one group that a list names, in the group's order.
std::vector<std::string> read_event_list(const ConfigNode& node, const std::string& group,
                                         const EventGroups& groups) {
  const auto& events = groups.find(group)->second;
  std::unordered_set<std::string> named;
  for (const ConfigNode& element : node.list(EVENT_ID_MAX)) {
    auto name = element.text();
    if (!name) continue;
    if (contains(events, *name))
      named.insert(*name);
    else if (auto other = group_of(*name, groups); !other.empty())
      element.problem("'{}' is an event of the group '{}', not of '{}'", *name, other, group);
    else
      element.problem("{}", unknown_name("event", *name, events,
                                         fmt::format("there are {}", fmt::join(events, ", "))));
  }
  std::vector<std::string> selected;
  std::ranges::copy_if(events, std::back_inserter(selected),
                       [&](const std::string& event) { return named.contains(event); });
  return selected;
}

void read_group(const ConfigNode& node, const std::string& group, const EventGroups& groups,
                Config& config) {
  bool syscalls = group == "syscalls";
  std::vector<std::string> selected;
  if (node.value().is_boolean()) {
    if (node.value().get<bool>()) selected = groups.find(group)->second;
  } else if (node.value().is_array()) {
    selected = read_event_list(node, group, groups);
  } else if (syscalls && node.value().is_object()) {
    read_syscalls_only(node, config);
    selected = groups.find(group)->second;
  } else {
    node.wrong_type(syscalls ? "true, false, a list of events, or {\"only\": [system calls]}"
                             : "true, false, or a list of events");
  }
  config.events.insert(config.events.end(), selected.begin(), selected.end());
}

// "irq", a group, is all its tracepoints. Nothing for what is neither that nor SYSTEM:NAME.
std::optional<std::string> tracepoint_pattern(const std::string& name) {
  const size_t colon = name.find(':');
  if (name.empty() || colon == 0 || colon + 1 == name.size()) return std::nullopt;
  if (colon != std::string::npos) return name;
  if (name.find_first_of("*?[") != std::string::npos) return std::nullopt;
  return name + ":*";
}

// ["irq:irq_handler_entry", "block:*", "net"]; whether they exist is known to the running kernel
// alone.
void read_tracepoints(const ConfigNode& node, Config& config) {
  for (const ConfigNode& element : node.list(EVENT_ID_MAX)) {
    auto name = element.text();
    if (!name) continue;
    if (auto pattern = tracepoint_pattern(*name))
      config.tracepoints.push_back(std::move(*pattern));
    else
      element.problem(
          "must be GROUP:NAME, in which * stands for any characters, or GROUP for all of one, "
          "not {}",
          in_quotes(*name));
  }
}

void read_events(const std::optional<ConfigNode>& node, const EventGroups& groups, Config& config) {
  std::vector<std::string_view> names;
  for (const auto& [group, events] : groups) names.push_back(group);
  names.push_back(kTracepoints);
  if (node && !node->object(names)) return;
  for (const auto& [group, events] : groups) {
    if (!node && contains(kDefaultGroups, group))
      config.events.insert(config.events.end(), events.begin(), events.end());
    if (!node) continue;
    if (auto member = node->member(group)) read_group(*member, group, groups, config);
  }
  if (node)
    if (auto member = node->member(kTracepoints)) read_tracepoints(*member, config);
}

// Checks only the grammar. Only the running kernel knows whether the function exists.
void read_probes(const ConfigNode& node, Config& config) {
  std::map<std::string, size_t> places;
  for (const ConfigNode& element : node.list(EVENT_ID_MAX - DYNAMIC_ID_FIRST)) {
    auto line = element.text();
    if (!line) continue;
    auto command = parse_probe_line(*line);
    if (!command) {
      element.problem("column {}: {}", command.error().column, command.error().message);
      continue;
    }
    const auto* probe = std::get_if<ProbeDefinition>(&*command);
    if (probe == nullptr)
      element.problem("must be a probe to be set (p or r), not one to be removed");
    else if (!places.emplace(probe->group + "/" + probe->event, places.size()).second)
      element.problem("must have a name of its own: there is a probe {}/{} before it", probe->group,
                      probe->event);
    else
      config.probes.push_back(std::move(*line));
  }
}

// ---- the other sections ----

void read_control(const ConfigNode& node, Config& config) {
  if (!node.object({"socket", "group", "admin_uids"})) return;
  if (auto member = node.member("socket")) {
    if (auto path = member->text()) {
      if (!path->starts_with('/') || path->ends_with('/'))
        member->problem("must be the absolute path of a socket");
      else if (path->size() > kSocketPathMax)
        member->problem("is {} bytes long; at most {} are possible", path->size(), kSocketPathMax);
      config.control.socket = *path;
    }
  }
  if (auto member = node.member("group"))
    config.control.group = member->text().value_or(std::string());
  if (auto member = node.member("admin_uids"))
    for (const ConfigNode& element : member->list(kAdminsMax))
      if (auto uid = element.number(0, UINT32_MAX - 1)) config.control.admin_uids.push_back(*uid);
}

void read_log(const ConfigNode& node, Config& config) {
  if (!node.object({"level"})) return;
  if (auto member = node.member("level"))
    config.log.level =
        member->choice({"trace", "debug", "info", "warning", "error", "critical", "off"})
            .value_or(config.log.level);
}

// Each directory has its own traces, limits and removal.
void check_directories(const ConfigNode& stream, const Config& config) {
  auto output = stream.member("output");
  if (!config.stream.output || !output) return;
  const auto normal = [](const std::filesystem::path& path) {
    return (path / "").lexically_normal();
  };
  if (normal(config.stream.output->directory) == normal(config.flight.directory))
    if (auto directory = output->member("directory"))
      directory->problem("must be another one than flight.directory");
}

void read_root(const ConfigNode& root, const EventGroups& groups, Config& config) {
  // "$schema" is for editors.
  if (!root.object({"$schema", "events", "probes", "filter", "stream", "flight", "control", "log",
                    "persist", "bpffs"}))
    return;
  if (auto schema = root.member("$schema")) static_cast<void>(schema->text());
  read_events(root.member("events"), groups, config);
  if (auto probes = root.member("probes")) read_probes(*probes, config);
  if (auto filter = root.member("filter")) read_filter(*filter, config.filter);
  if (auto stream = root.member("stream")) read_stream(*stream, config);
  if (auto flight = root.member("flight")) read_flight(*flight, config);
  if (auto stream = root.member("stream"); stream && stream->value().is_object())
    check_directories(*stream, config);
  if (auto control = root.member("control")) read_control(*control, config);
  if (auto log = root.member("log")) read_log(*log, config);
  if (auto persist = root.member("persist"))
    config.persist = persist->boolean().value_or(config.persist);
  if (auto bpffs = root.member("bpffs"))
    config.bpffs = read_directory(*bpffs).value_or(config.bpffs);
}

std::unexpected<Error> cannot_read(const std::filesystem::path& file, std::string_view why) {
  return fail(ExitCode::config,
              "cannot read the configuration file {}: {}; name the one to use with --config",
              printable(file.string()), why);
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view file,
                            const EventGroups& groups) {
  Problems problems(file);
  Config config;
  if (auto root = read_json(text, problems))
    read_root(ConfigNode(*root, "", problems), groups, config);
  if (problems.any()) return std::unexpected(problems.error(ExitCode::config));
  return config;
}

Result<Config> load_config(const std::filesystem::path& file, const EventGroups& groups) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) < 0) return cannot_read(file, errno_text(errno));
  if (!S_ISREG(status.st_mode)) return cannot_read(file, "it is not a regular file");
  std::string text(kFileMax + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<size_t>(got))
    if (got = ::read(fd.get(), text.data() + size, text.size() - size); got < 0)
      return cannot_read(file, errno_text(errno));
  if (size > kFileMax)
    return cannot_read(file, fmt::format("it is longer than {} bytes", kFileMax));
  text.resize(size);
  return parse_config(text, file.string(), groups);
}

}  // namespace ktraced
