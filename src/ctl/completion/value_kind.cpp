// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/completion/value_kind.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>

#include "base/text/option_messages.h"

namespace ktraced {
namespace {

struct Entry {
  std::string_view name;
  ValueKind kind;
};

// Options mean the same in every command.
constexpr Entry kOptions[] = {
    {"buffer-kb", ValueKind::free},
    {"by", ValueKind::sort_keys},
    {"cgroup", ValueKind::directories},
    {"comm", ValueKind::free},
    {"count", ValueKind::free},
    {"cpu", ValueKind::free},
    {"directory", ValueKind::directories},
    {"duration", ValueKind::free},
    {"error", ValueKind::errors},
    {"event", ValueKind::events},
    {"file", ValueKind::files},
    {"follow", ValueKind::free},
    {"format", ValueKind::formats},
    {"interval", ValueKind::free},
    {"last", ValueKind::free},
    {"memory-mb", ValueKind::free},
    {"name", ValueKind::free},
    {"output", ValueKind::files},
    {"pid", ValueKind::free},
    {"reason", ValueKind::free},
    {"session", ValueKind::sessions},
    {"since", ValueKind::free},
    {"socket", ValueKind::files},
    {"stacks", ValueKind::events},
    {"syscall", ValueKind::syscalls},
    {"table", ValueKind::tables},
    {"tid", ValueKind::free},
    {"time", ValueKind::time_forms},
    {"timeout", ValueKind::free},
    {"to", ValueKind::export_forms},
    {"top", ValueKind::free},
    {"uid", ValueKind::free},
    {"until", ValueKind::free},
    {"view", ValueKind::top_views},
    {"where", ValueKind::free},
};

// Unless a command is here.
constexpr Entry kOptionsOf[] = {
    {"report syscalls --stacks", ValueKind::syscalls},
};

constexpr Entry kArguments[] = {
    {"events list NAME", ValueKind::events},
    {"events enable NAME", ValueKind::events},
    {"events disable NAME", ValueKind::events},
    {"filter clear KEY", ValueKind::filter_keys},
    {"filter set filter", ValueKind::filter_arguments},
    {"session show NAME", ValueKind::sessions},
    {"snapshot take NAME", ValueKind::free},
    {"snapshot keep NAME", ValueKind::snapshots},
    {"snapshot delete NAME", ValueKind::snapshots},
    {"snapshot export NAME", ValueKind::snapshots},
    {"probe add PROBE", ValueKind::free},
    {"probe remove NAME", ValueKind::probes},
    {"show DIR", ValueKind::traces},
    {"report summary DIR", ValueKind::traces},
    {"report processes DIR", ValueKind::traces},
    {"report files DIR", ValueKind::traces},
    {"report kmem DIR", ValueKind::traces},
    {"report sched DIR", ValueKind::traces},
    {"report syscalls DIR", ValueKind::traces},
    {"report wakeups WHO", ValueKind::free},
    {"report wakeups DIR", ValueKind::traces},
    {"report cpu DIR", ValueKind::traces},
    {"report offcpu DIR", ValueKind::traces},
    {"report html DIR", ValueKind::traces},
    {"export DIR", ValueKind::traces},
    {"query DIR", ValueKind::traces},
    {"record COMMAND", ValueKind::programs},
    {"help COMMAND", ValueKind::commands},
};

std::optional<ValueKind> find(const auto& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found == std::end(entries)) return std::nullopt;
  return found->kind;
}

}  // namespace

std::optional<ValueKind> value_kind(const CLI::App& command, const CLI::Option& option) {
  if (!option.get_positional()) {
    if (option.get_lnames().empty()) return std::nullopt;
    const std::string& name = option.get_lnames().front();
    const auto here = find(kOptionsOf, words_of(command) + " --" + name);
    return here ? here : find(kOptions, name);
  }
  return find(kArguments, words_of(command) + " " + option.get_name(true));
}

}  // namespace ktraced
