// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config.h"

#include <array>

#include "daemon/config/config_files.h"
#include "daemon/config/config_keys.h"
#include "daemon/config/config_reader.h"
#include "daemon/config/config_text.h"
#include "daemon/config/metrics_address.h"

namespace ktraced {
namespace {

constexpr size_t kAdminsMax = 1024;
constexpr std::array<std::string_view, 7> kLogLevels = {"trace", "debug",    "info", "warning",
                                                        "error", "critical", "off"};

constexpr std::array<std::string_view, 2> kAddresses = {"auto", "real"};
constexpr std::array<std::string_view, 2> kReadersSee = {"all", "own"};

void describe_control(ConfigSection& control, Config& config) {
  std::string socket = config.control.socket;
  control.text({"socket", "Absolute path of at most 107 bytes."}, kSocketText, socket);
  config.control.socket = socket;
  control.text({"group", "Group whose members may read; empty, or ktrace and missing: only root."},
               {}, config.control.group);
  control.list({"admin_uids", "Users with all rights, besides root."},
               {.max_size = kAdminsMax, .element = number_schema(kUid)},
               [&](const std::vector<ConfigNode>& elements) {
                 for (const ConfigNode& element : elements)
                   if (auto uid = element.number(kUid)) config.control.admin_uids.push_back(*uid);
               });
  control.choice({"addresses",
                  "Kernel addresses for readers, also in traces that they can open: real ones only "
                  "if the kernel shows them to every user (auto), or always (real)."},
                 kAddresses, config.control.addresses);
  control.choice({"readers_see", "Whose events readers see: those of all processes, or their own."},
                 kReadersSee, config.control.readers_see);
}

// Sockets and directories that may not be the same: each directory has its own traces, limits and
// removal.
void check_paths(const ConfigNode& root, const Config& config) {
  const auto normal = [](const std::filesystem::path& path) {
    return (path / "").lexically_normal();
  };
  const auto metrics = root.member("metrics");
  if (const auto listen = metrics ? metrics->member("listen") : std::nullopt;
      listen && normal(config.metrics.listen) == normal(config.control.socket))
    listen->problem("must be another one than control.socket");
  const auto stream = root.member("stream");
  const auto output = stream && config.stream.output ? stream->member("output") : std::nullopt;
  const auto directory = output ? output->member("directory") : std::nullopt;
  if (!directory) return;
  if (normal(config.stream.output->directory) == normal(config.flight.directory))
    directory->problem("must be another one than flight.directory");
}

// The section alone lets the recorder have samples, unless "events" says otherwise.
void add_samples(const ConfigNode& root, const EventGroups& groups, Config& config) {
  const auto group = groups.find("sampling");
  const auto events = root.member("events");
  const bool said = events && events->value().is_object() && events->member("sampling");
  if (!config.sampling || group == groups.end() || said) return;
  config.events.names.insert(config.events.names.end(), group->second.begin(), group->second.end());
}

}  // namespace

void describe_config(ConfigSection& root, const EventGroups& groups, Config& config) {
  std::string unused;
  root.text({"$schema", "Where this schema is, for editors."}, {}, unused);
  config.events.names = default_events(groups);
  root.section({"events",
                "Which events are recorded. Without this section: sched, process, signal and oom. "
                "With it, groups not named are off."},
               [&](ConfigSection& events) { describe_events(events, groups, config.events); });
  root.section({"stacks",
                "Which events are recorded with the stack of the kernel and that of the process. A "
                "stack costs as much as ten events, so frequent events should have one only now "
                "and then."},
               [&](ConfigSection& stacks) { describe_stacks(stacks, config.stacks); });
  root.section(
      {"sampling",
       "How samples of what each CPU does are taken, cpu_sample, with the stacks of the "
       "kernel and of the process; stacks.depth limits these. With this section the "
       "recorder has samples, unless events.sampling says otherwise."},
      [&](ConfigSection& sampling) { describe_sampling(sampling, config.sampling.emplace()); });
  root.section({"exact",
                "Whether hits are recorded that happen while the kernel runs the program of their "
                "event, which it then skips: by a second program, which makes each hit dearer."},
               [&](ConfigSection& exact) { describe_exact(exact, config.exact); });
  describe_probes(root, config);
  root.section({"filter",
                "Whose events are recorded. An event must match one value of each list that is "
                "not empty."},
               [&](ConfigSection& filter) { describe_filter(filter, config.filter); });
  root.section({"stream", "The rings of subscribers."},
               [&](ConfigSection& stream) { describe_stream(stream, groups, config.stream); });
  root.section({"flight",
                "The flight recorder: rings that always hold the newest events, and the snapshots "
                "taken of them."},
               [&](ConfigSection& flight) { describe_flight(flight, config.flight); });
  root.section({"control", "The control socket."},
               [&](ConfigSection& control) { describe_control(control, config); });
  root.section({"log", "Messages of the daemon itself."}, [&](ConfigSection& log) {
    log.choice({"level", "The least important messages that are logged."}, kLogLevels,
               config.log.level);
  });
  root.section({"metrics", "Metrics for Prometheus, over HTTP."}, [&](ConfigSection& metrics) {
    metrics.text({"listen",
                  "Path of a Unix socket, or a loopback address with a port: 127.0.0.1:9464, "
                  "[::1]:9464. Empty: off."},
                 kMetricsListenText, config.metrics.listen);
  });
  root.flag({"persist",
             "Programs and rings stay active when the daemon stops; the next daemon adopts them."},
            config.persist);
  root.directory(
      {"bpffs", "Absolute path below a mounted bpffs, where programs and rings are pinned."},
      config.bpffs);
  root.check([&](const ConfigNode& node) {
    check_paths(node, config);
    check_stacks(node, groups, config);
    add_samples(node, groups, config);
  });
}

Result<Config> parse_config(std::span<const ConfigText> files, const EventGroups& groups) {
  auto [root, problems] = merge_config(files);
  Config config;
  if (root)
    ConfigReader::read(ConfigNode(*root, "", problems),
                       [&](ConfigSection& section) { describe_config(section, groups, config); });
  if (problems.any()) return std::unexpected(problems.error(ExitCode::config));
  config.file = files.front().file;
  for (const ConfigText& drop_in : files.subspan(1)) config.drop_ins.push_back(drop_in.file);
  return config;
}

Result<Config> load_config(const std::filesystem::path& file, const EventGroups& groups) {
  auto files = read_config_files(file);
  if (!files) return propagate(files);
  return parse_config(*files, groups);
}

}  // namespace ktraced
