// SPDX-License-Identifier: BSD-2-Clause
// A session: its events, its filter and its sink.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared_state.h"
#include "daemon/events/event_catalog.h"
#include "kernel/filters/filter_settings.h"

namespace ktraced {

// Whose connection a session belongs to.
struct SessionOwner {
  pid_t pid = 0;  // 0: the daemon itself
  uid_t uid = 0;
  bool only_reads = false;          // not an administrator's
  bool own_only = false;            // records events of processes of `uid` only
  bool real_addresses = true;       // gets kernel addresses, not pseudonyms
  bool real_user_addresses = true;  // gets user addresses in stacks, not pseudonyms

  [[nodiscard]] bool gets_all_addresses() const { return real_addresses && real_user_addresses; }

  // False for root and the daemon's uid.
  [[nodiscard]] bool is_ordinary_user() const { return uid != 0 && uid != ::geteuid(); }
};

// The parts of a filter that a session has asked for. Nothing: those of the recorder, also when
// they change.
struct OwnFilter {
  std::optional<TaskFilter> tasks;
  std::optional<std::vector<std::string>> syscalls;

  bool operator==(const OwnFilter&) const = default;
  // A filter with both parts set.
  [[nodiscard]] static OwnFilter of(const FilterSettings& filter) {
    return {.tasks = filter.tasks(), .syscalls = filter.syscall};
  }
};

// An event set, a filter and a sink of its own. The kernel knows it by its number: a program writes
// a record for each session that has its event on and whose filter matches.
struct Session {
  uint32_t number = 0;  // SESSION_RECORDER, SESSION_OUTPUT, or of a client
  std::string name;
  SessionOwner owner;
  uint64_t since_ns = 0;  // CLOCK_BOOTTIME
  // What it asked for. Nothing: what the recorder has, also when that changes.
  std::optional<EventSet> own_events;
  OwnFilter own_filter;
  // The events that it has with their stacks, if it has these events. Nothing: those that the
  // recorder has so, if it has asked for no events either.
  std::optional<EventSet> own_stacks;
  bool has_sink = false;  // its records go somewhere
  bool paused = false;
  size_t ring_bytes = 0;  // of each of its stream rings; 0: it has none

  [[nodiscard]] uint32_t bit() const { return 1U << number; }
  [[nodiscard]] bool is_recorder() const { return number == SESSION_RECORDER; }
  [[nodiscard]] bool is_client() const { return number >= SESSION_CLIENT_FIRST; }
};

}  // namespace ktraced
