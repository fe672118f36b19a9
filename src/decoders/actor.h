// SPDX-License-Identifier: BSD-2-Clause
// Whose an event is, for counting by process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decoders/identities.h"
#include "trace/name_table.h"
#include "trace/packet.h"

namespace ktraced {

// A process; or, if it is not known to which one a thread belongs, that thread.
struct Actor {
  uint32_t id = 0;                   // of the process, or of the thread; 0: the idle tasks
  bool known = true;                 // it is a process
  uint64_t start_ns = 0;             // of the process; 0: it is not known
  const TaskName* leader = nullptr;  // the thread that names the process, if it is known
  const TaskName* task = nullptr;    // the thread that the event is of

  // Gives `name` the name of the process: that of its leader, or if that is not known, of one of
  // its threads.
  void name(std::string& name) const {
    const TaskName* named = leader != nullptr ? leader : task;
    if (named != nullptr && (named == leader || name.empty()) && name != named->comm())
      name = named->comm();
  }
};

[[nodiscard]] inline Actor actor_of(RecordView record, const NameTable& names) {
  const uint32_t tid = record.tid();
  const TaskName* task = names.task_at(tid, record.ts());
  if (task == nullptr) return {.id = tid, .known = tid == 0};
  const TaskName* leader = task->tgid == tid ? task : names.task_at(task->tgid, record.ts());
  // Nothing but a later process may be known by that number.
  const bool is_later = leader != nullptr && leader != task && leader->start_time > record.ts();
  if (is_later || (leader != nullptr && leader->tgid != task->tgid)) leader = nullptr;
  return {.id = task->tgid,
          .known = true,
          .start_ns = leader != nullptr ? leader->start_time : 0,
          .leader = leader,
          .task = task};
}

// Numbers actors: a process is its pid and its start time.
class ActorNumbers {
 public:
  explicit ActorNumbers(size_t limit) : identities_(limit) {}

  // Nothing if there are too many.
  std::optional<uint32_t> of(const Actor& actor) {
    return identities_.number_of(uint64_t{actor.known ? 0U : 1U} << 32 | actor.id, actor.start_ns);
  }

 private:
  Identities identities_;
};

}  // namespace ktraced
