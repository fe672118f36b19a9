// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/entry_times.h"

#include <atomic>
#include <utility>

#include "base/clock.h"

namespace ktraced {
namespace {

constexpr const char* kNote = "note_entry";
constexpr const char* kCheck = "check_entry";  // runs after it, where the event has a catcher
constexpr u64 kNever = UINT64_MAX;

}  // namespace

std::vector<std::string> EntryTimes::helpers() { return {kNote, kCheck}; }

std::vector<ProgramNeed> EntryTimes::needs() const {
  std::vector<ProgramNeed> needs;
  for (const auto& [name, needed] :
       {std::pair(kNote, recorded_), std::pair(kCheck, recorded_ && catchers_.chosen(kEvent))})
    if (availability_.supports(name))
      needs.push_back({.program = {.name = name}, .needed = needed, .first = false});
  return needs;
}

bool EntryTimes::all_attached() const {
  if (!object_.attached(kEvent) || !object_.attached(kNote)) return false;
  return !catchers_.chosen(kEvent) || (object_.attached(kCheck) && catchers_.attached(kEvent));
}

void EntryTimes::begin() const {
  if (!recorded_ || !all_attached()) std::atomic_ref(object_.control().entries_since).store(kNever);
}

// From now on each call that begins is noted, and each end takes its note.
void EntryTimes::finish() const {
  std::atomic_ref since(object_.control().entries_since);
  if (recorded_ && all_attached() && since.load() == kNever) since.store(boottime_ns());
}

}  // namespace ktraced
