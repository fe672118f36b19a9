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
  // Values that the running daemon knows.
  events,
  sessions,
  snapshots,
  probes,
  traces,  // directories, archives, or snapshots by name
  // Values that this program knows.
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
  // Values of the file system, which the shell completes itself.
  files,
  directories,
  programs,
};

// Nothing for an option that is not known here.
[[nodiscard]] std::optional<ValueKind> value_kind(const CLI::App& command,
                                                  const CLI::Option& option);

}  // namespace ktraced
