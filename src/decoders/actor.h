// Whose an event is, for counting by process.
#pragma once

#include <cstdint>
#include <string>

#include "trace/name_table.h"
#include "trace/packet.h"

namespace ktraced {

// A process; or, if it is not known to which one a thread belongs, that thread.
struct Actor {
  uint32_t id = 0;      // of the process, or of the thread; 0: the idle tasks
  bool known = true;    // it is a process
  bool leader = false;  // the thread that the event is of has the process's id
  const TaskName* task = nullptr;

  // Differs for processes and threads with the same number.
  [[nodiscard]] uint64_t key() const { return uint64_t{known ? 0U : 1U} << 32 | id; }
  // Gives `name` the name of the thread: a process is called as its leader was at last, or as
  // one of its threads if that does nothing.
  void name(std::string& name) const {
    if (task != nullptr && (leader || name.empty()) && name != task->comm()) name = task->comm();
  }
};

[[nodiscard]] inline Actor actor_of(RecordView record, const NameTable& names) {
  const uint32_t tid = record.tid();
  const TaskName* task = names.task_at(tid, record.ts());
  if (task == nullptr) return {.id = tid, .known = tid == 0};
  return {.id = task->tgid, .known = true, .leader = task->tgid == tid, .task = task};
}

// Of a key that Actor::key() gave.
[[nodiscard]] constexpr bool is_process_key(uint64_t key) { return key >> 32 == 0; }
[[nodiscard]] constexpr uint32_t id_of_key(uint64_t key) { return static_cast<uint32_t>(key); }

}  // namespace ktraced
