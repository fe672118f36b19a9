// SPDX-License-Identifier: BSD-2-Clause
// What the values of options and arguments name.
#pragma once

#include <optional>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ktraced {

enum class ValueKind {
  free,  // numbers, times, texts: nothing to offer
  // Of the running daemon.
  events,
  sessions,
  snapshots,
  probes,
  traces,  // directories, or snapshots by name
  // Of this program.
  syscalls,
  errors,
  formats,
  time_forms,
  export_forms,
  top_views,
  sort_keys,
  tables,
  filter_keys,
  filter_arguments,  // "pid=", "syscall=openat"
  commands,
  // Of the file system: the shell's own.
  files,
  directories,
  programs,
};

// Nothing for an option that is not known here.
[[nodiscard]] std::optional<ValueKind> value_kind(const CLI::App& command,
                                                  const CLI::Option& option);

}  // namespace ktraced
