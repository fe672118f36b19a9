// SPDX-License-Identifier: BSD-2-Clause
// The process or thread of an event, for counting by process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/coverage/identities.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// A process; or a thread, if its process is not known.
struct Actor {
  uint32_t id = 0;                   // of the process, or of the thread; 0: the idle tasks
  bool known = true;                 // true: a process
  uint64_t start_ns = 0;             // of the process; 0: unknown
  const TaskName* leader = nullptr;  // the process's main thread, if known
  const TaskName* task = nullptr;    // the event's thread

  // Sets `name` to the name of the process: that of its main thread, or if unknown, of one of its
  // threads.
  void name(std::string& name) const {
    const TaskName* named = leader != nullptr ? leader : task;
    if (named != nullptr && (named == leader || name.empty()) && name != named->comm())
      name = named->comm();
  }
};

// A process in the rows of a report, as events name it; or a thread, if its process is not known.
struct ActorRow {
  uint32_t pid = 0;       // 0: the idle tasks
  bool known = true;      // false: `pid` is the id of a thread whose process is not known
  uint64_t start_ns = 0;  // CLOCK_BOOTTIME; 0: unknown
  std::string comm;       // of its main thread, else of any of its threads; may be empty

  // Takes what an event of this process says of it, without the name.
  void identify(const Actor& actor) {
    pid = actor.id;
    known = actor.known;
    if (actor.start_ns != 0) start_ns = actor.start_ns;
  }
  // Takes all that an event of this process says of it.
  void learn(const Actor& actor) {
    identify(actor);
    actor.name(comm);
  }
};

// The actor of an event of thread `tid` at `ts`. `task`: that thread; null if unknown.
[[nodiscard]] inline Actor actor_of(uint32_t tid, uint64_t ts, const TaskName* task,
                                    const NameTable& names) {
  if (task == nullptr) return {.id = tid, .known = tid == 0};
  const TaskName* leader = task->tgid == tid ? task : names.task_at(task->tgid, ts);
  // The known process may be a later one that has reused the number.
  const bool is_later = leader != nullptr && leader != task && leader->start_time > ts;
  if (is_later || (leader != nullptr && leader->tgid != task->tgid)) leader = nullptr;
  return {.id = task->tgid,
          .known = true,
          .start_ns = leader != nullptr ? leader->start_time : 0,
          .leader = leader,
          .task = task};
}

// `task`: the thread of the record; null if unknown.
[[nodiscard]] inline Actor actor_of(RecordView record, const TaskName* task,
                                    const NameTable& names) {
  return actor_of(record.tid(), record.ts(), task, names);
}

[[nodiscard]] inline Actor actor_of(RecordView record, const NameTable& names) {
  return actor_of(record, names.task_at(record.tid(), record.ts()), names);
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
