// SPDX-License-Identifier: BSD-2-Clause
// What the end of a thread says of its process.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/coverage/event_fields.h"

namespace ktraced {

struct ThreadEnd {
  bool ends_process = false;
  std::optional<int32_t> status;  // of the process that ends, as of wait(2)
};

// The fields of sched_process_exit that say it.
struct ThreadEndFields {
  std::optional<Field> exit_code, group_dead;

  static ThreadEndFields of(const Event& event) {
    return {.exit_code = field_named(event, "exit_code"),
            .group_dead = field_named(event, "group_dead")};
  }
  // A process ends with its last thread, whose record has the status of the process. Of traces that
  // do not say which one that was, it is the main thread.
  [[nodiscard]] ThreadEnd read(RecordView record, bool is_main_thread) const {
    ThreadEnd end{
        .ends_process = group_dead ? value_or_zero(group_dead, record) != 0 : is_main_thread,
        .status = {}};
    if (end.ends_process && exit_code)
      end.status = static_cast<int32_t>(value_or_zero(exit_code, record));
    return end;
  }
};

}  // namespace ktraced
