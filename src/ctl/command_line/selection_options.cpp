// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/selection_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "base/text/duration.h"
#include "base/text/option_messages.h"
#include "base/text/text_list.h"
#include "base/user_id.h"
#include "ctl/selection/comm_pattern.h"

namespace ktraced {
namespace {

// The value of one entry, or why there is none.
std::expected<std::string, std::string> parse_entry(const std::string& text, std::string* /*as*/) {
  return text;
}

std::expected<uint32_t, std::string> parse_entry(const std::string& text, uint32_t* /*as*/) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stopped == end) return number;
  return std::unexpected(fmt::format("'{}' is {}", text, why_no_number(text)));
}

// Adds an option that can be repeated and takes several values at once. Its type ends with ",…",
// by which completion knows it.
template <class Value, class Parse>
void add_parsed_list(CLI::App* sub, const char* name, std::vector<Value>& values, Parse parse,
                     const char* description, const char* type) {
  sub->add_option_function<std::vector<std::string>>(
         name,
         [&values, parse](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             for (const std::string& entry : list_entries(text))
               if (auto value = parse(entry)) values.push_back(std::move(*value));
         },
         description)
      ->allow_extra_args(false)
      ->check([parse](const std::string& text) -> std::string {
        for (const std::string& entry : list_entries(text)) {
          if (text.empty()) return "the value is empty";
          if (entry.empty()) return fmt::format("'{}' has an empty entry", text);
          if (const auto value = parse(entry); !value) return value.error();
        }
        return {};
      })
      ->type_name(type);
}

template <class Value>
void add_list(CLI::App* sub, const char* name, std::vector<Value>& values, const char* description,
              const char* type) {
  add_parsed_list(
      sub, name, values,
      [](const std::string& text) { return parse_entry(text, static_cast<Value*>(nullptr)); },
      description, type);
}

void add_time_point(CLI::App* sub, const char* name, std::optional<TimePoint>& point,
                    const char* description) {
  sub->add_option_function<std::string>(
         name,
         [&point](const std::string& text) {
           if (auto parsed = parse_time_point(text)) point = *parsed;
         },
         description)
      ->check([](const std::string& text) {
        const auto parsed = parse_time_point(text);
        return parsed ? std::string() : parsed.error().message;
      })
      ->type_name("TIME");
}

}  // namespace

std::string check_positive(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && number > 0 && std::isfinite(number)) return "";
  return fmt::format("'{}' is not a number above 0", text);
}

void add_selection_options(CLI::App* sub, SelectionArgs& selection) {
  add_list(sub, "--event", selection.events, "Only these events or groups", "NAME,…");
  add_list(sub, "--pid", selection.pids, "Only events of these processes or threads", "PID,…");
  const auto user_of = [](const std::string& text) -> std::expected<uint32_t, std::string> {
    auto user = parse_user(text);
    if (!user) return std::unexpected(user.error().message);
    return *user;
  };
  add_parsed_list(sub, "--uid", selection.uids, user_of,
                  "Only events of processes of these users, by name or number", "USER,…");
  const auto pattern_of = [](const std::string& text) -> std::expected<std::string, std::string> {
    auto pattern = comm_pattern(text);
    if (!pattern) return std::unexpected(pattern.error().message);
    return *pattern;
  };
  add_parsed_list(sub, "--comm", selection.comms, pattern_of,
                  "Only events of tasks with these names ('nginx*'), or as ps shows kernel workers",
                  "COMM,…");
}

void add_condition_options(CLI::App* sub, SelectionArgs& selection) {
  add_list(sub, "--tid", selection.tids, "Only events of these threads", "TID,…");
  add_list(sub, "--cpu", selection.cpus, "Only events on these CPUs", "N,…");
  add_list(sub, "--error", selection.errors,
           "Only system calls that fail so: ENOENT, or any for all errors", "ERROR,…");
  sub->add_option("--where", selection.where,
                  "Only events for which this is true: 'ret < 0 && nr == openat'; can be repeated")
      ->allow_extra_args(false)
      ->type_name("EXPRESSION");
}

void add_all_selection(CLI::App* sub, SelectionArgs& selection) {
  add_selection_options(sub, selection);
  add_condition_options(sub, selection);
  add_syscall_option(sub, selection.syscalls);
  add_cgroup_option(sub, selection);
}

void add_cgroup_option(CLI::App* sub, SelectionArgs& selection) {
  add_list(sub, "--cgroup", selection.cgroups,
           "Only events of tasks in these control groups: a path, an id, or a container",
           "GROUP,…");
}

void add_syscall_option(CLI::App* sub, std::vector<std::string>& calls) {
  add_list(sub, "--syscall", calls, "Of system calls, only these", "NAME,…");
}

void add_frame_options(CLI::App* sub, FrameOptions& frames) {
  sub->add_flag("--lines", frames.lines,
                "Of stacks: the lines of the source, and functions that were inlined");
  sub->add_flag("--debuginfod", frames.debuginfod,
                "Of stacks: get debug files that this machine does not have from the servers in "
                "DEBUGINFOD_URLS");
}

void refuse_frame_options(const FrameOptions& frames, const char* needs) {
  for (const auto& [given, option] :
       {std::pair{frames.lines, "--lines"}, std::pair{frames.debuginfod, "--debuginfod"}})
    if (given) throw CLI::ValidationError(fmt::format("{} needs {}", option, needs));
}

void add_time_options(CLI::App* sub, TimeArgs& times) {
  add_time_point(
      sub, "--since", times.since,
      "Only from this time on: 14:03:21.5, 2026-11-23T14:03:21, 1872.5 (seconds since boot), "
      "or -2s (before the end)");
  add_time_point(sub, "--until", times.until, "Only up to this time; forms as of --since");
  add_duration(sub, times.last_s, "Only the last part, of this length, up to --until or the end",
               "--last")
      ->excludes("--since");
}

void refuse_past(const TimeArgs& times, const char* what) {
  if (times.since || times.last_s)
    throw CLI::ValidationError(fmt::format(
        "{} has what happens from now on: --since and --last select from traces", what));
}

void add_task_options(CLI::App* sub, SessionArgs& session) {
  add_list(sub, "--cgroup", session.cgroups, "Only events of tasks in these control groups",
           "PATH,…");
  add_list(sub, "--follow", session.follow,
           "Only events of these processes and of what they start from now on", "PID,…");
  add_syscall_option(sub, session.syscalls);
}

void add_session_options(CLI::App* sub, SessionArgs& session) {
  add_task_options(sub, session);
  add_list(sub, "--stacks", session.stacks, "Record these events with their stacks", "EVENT,…");
  sub->add_option("--buffer-kb", session.buffer_kb,
                  "Size of the ring of each CPU, a power of two (default: what fits)")
      ->check(check_positive)
      ->type_name("N");
  sub->add_option("--name", session.name, "Name of the session (default: client-N)")
      ->type_name("NAME");
}

CLI::Option* add_duration(CLI::App* sub, std::optional<double>& seconds, const char* description,
                          const char* name) {
  return sub
      ->add_option_function<std::string>(
          name,
          [&seconds](const std::string& text) {
            if (auto duration = parse_duration(text))
              seconds = std::chrono::duration<double>(*duration).count();
          },
          description)
      ->check([](const std::string& text) {
        const auto duration = parse_duration(text);
        return duration ? std::string() : duration.error().message;
      })
      ->type_name("TIME");
}

void add_store_option(CLI::App* sub, std::string& store) {
  sub->add_option("--directory", store,
                  "Directory of snapshots given by name (default: the daemon's)")
      ->type_name("PATH");
}

}  // namespace ktraced
