// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/printing/output_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "ctl/input/selected_analysis.h"
#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/ftrace/probe_text.h"
#include "decoders/json/json_decoder.h"
#include "decoders/kmemtrace/kmemtrace_decoder.h"
#include "decoders/process/process_decoder.h"

namespace ktraced {
namespace {

struct Format {
  std::string_view name;
  OutputFormat format;
};

constexpr Format kFormats[] = {
    {"ftrace", OutputFormat::ftrace},       {"json", OutputFormat::json},
    {"kmemtrace", OutputFormat::kmemtrace}, {"kmemtrace-minimal", OutputFormat::kmemtrace_minimal},
    {"process", OutputFormat::process},
};

constexpr std::string_view kKmemtraceEvents[] = {
    "kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "mm_page_alloc", "mm_page_free"};
constexpr std::string_view kProcessEvents[] = {
    "sched_process_fork", "sched_process_exec", "sched_process_exit", "sys_enter",
    "sys_exit",           "signal_deliver",     "task_newtask",       "task:task_newtask",
    "sys_completed",      "sys_enter_string",   "sys_exit_string"};

// The events that a format for certain events needs.
std::optional<EventNeed> need_of(OutputFormat format) {
  switch (format) {
    case OutputFormat::kmemtrace:
      return EventNeed{
          .who = "--format kmemtrace", .events = kKmemtraceEvents, .any = true, .enable = "kmem"};
    case OutputFormat::kmemtrace_minimal:
      return EventNeed{.who = "--format kmemtrace-minimal",
                       .events = kKmemtraceEvents,
                       .any = true,
                       .enable = "kmem"};
    case OutputFormat::process:
      return EventNeed{.who = "--format process",
                       .events = kProcessEvents,
                       .any = true,
                       .enable = "process syscalls signal"};
    default:
      return std::nullopt;
  }
}

bool shows_probe(OutputFormat format, const Event& event) {
  return format == OutputFormat::process && ProbeText::of(event).has_value();
}

OutputFormat format_of(const ViewOptions& view) {
  return view.format.value_or(OutputFormat::ftrace);
}

}  // namespace

std::optional<OutputFormat> format_named(std::string_view name) {
  const auto* format = std::ranges::find(kFormats, name, &Format::name);
  if (format == std::ranges::end(kFormats)) return std::nullopt;
  return format->format;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                      const DecoderSources& sources) {
  const bool names = view.names.value_or(::isatty(STDOUT_FILENO) == 1);
  const EventTime time(view.time.value_or(TimeForm::boot), sources.clock_offset_ns);
  const auto added_time = view.time ? std::optional(time) : std::nullopt;
  switch (view.format.value_or(json ? OutputFormat::json : OutputFormat::ftrace)) {
    case OutputFormat::json:
      return std::make_unique<JsonDecoder>(sources);
    case OutputFormat::kmemtrace:
      return std::make_unique<KmemtraceDecoder>(sources, names, added_time);
    case OutputFormat::kmemtrace_minimal:
      return std::make_unique<KmemtraceMinimalDecoder>(sources, names || view.gfp_names,
                                                       added_time);
    case OutputFormat::process:
      return std::make_unique<ProcessDecoder>(sources, names, time);
    case OutputFormat::ftrace:
      break;
  }
  return std::make_unique<FtraceDecoder>(sources, names, time);
}

Result<> check_format_conditions(const ViewOptions& view, const Schema& schema,
                                 const Selection& selection) {
  const auto need = need_of(format_of(view));
  if (!need) return {};
  std::vector<std::string_view> shown(need->events.begin(), need->events.end());
  for (const Event& event : schema.events())
    if (shows_probe(format_of(view), event)) shown.emplace_back(event.name);
  return check_conditions(std::span(&selection, 1), {.report = need->who, .events = shown});
}

std::optional<std::string> nothing_to_show(const ViewOptions& view, const Schema& schema,
                                           const std::vector<std::string>& chosen,
                                           const EventNames& traced, Traced when) {
  const OutputFormat format = format_of(view);
  const auto need = need_of(format);
  if (!need) return std::nullopt;
  EventNames probes;
  for (const Event& event : schema.events())
    if (shows_probe(format, event)) probes.insert(event.name);
  auto is_shown = [&](const std::string& event) {
    return probes.contains(event) || std::ranges::find(need->events, event) != need->events.end();
  };
  if (std::ranges::any_of(chosen.empty() ? traced : EventNames(chosen.begin(), chosen.end()),
                          is_shown))
    return std::nullopt;
  if (!chosen.empty())
    return fmt::format("{} does not show {}: it is made from {}", need->who,
                       fmt::join(chosen, ", "), fmt::join(need->events, ", "));
  return missing_events(*need, traced, when);
}

}  // namespace ktraced
